// SPDX-License-Identifier: Apache-2.0
#include "vm/host/reserved_descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "vm/host/host_limits.h"

namespace elision::vm {
namespace {

std::set<int>& reserved() {
  static std::set<int> descriptors;
  return descriptors;
}

}  // namespace

int reserve_descriptor(int descriptor) {
  if (descriptor < 0) return descriptor;
  const LiftedLimits lifted;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstEngineDescriptor);
  if (moved >= 0) close(descriptor);
  return *reserved().insert(moved >= 0 ? moved : descriptor).first;
}

void close_reserved_descriptor(int descriptor) {
  if (reserved().erase(descriptor) != 0) close(descriptor);
}

bool is_reserved_descriptor(int descriptor) { return reserved().contains(descriptor); }

const std::set<int>& reserved_descriptors() { return reserved(); }

void set_reserved_descriptors(const std::set<int>& descriptors) { reserved() = descriptors; }

std::vector<int> open_descriptors() {
  std::vector<int> result;
  const LiftedLimits lifted;
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return result;
  while (const dirent* const entry = readdir(folder))
    if (const int number = std::atoi(entry->d_name); entry->d_name[0] != '.' && number != dirfd(folder))
      result.push_back(number);
  closedir(folder);
  return result;
}

}  // namespace elision::vm
