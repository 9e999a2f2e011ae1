// SPDX-License-Identifier: Apache-2.0
#include "cli/host/lifeline.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

constexpr int kRead = 0, kWrite = 1;
std::once_flag g_once;
int g_ends[] = {-1, -1};

void close_end(int end) {
  if (g_ends[end] >= 0) close(g_ends[end]);
  g_ends[end] = -1;
}

bool close_between(int first, int last) {
  return first > last || close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0;
}

// For kernels without close_range.
void close_listed_but(int one, int other) {
  DIR* const descriptors = opendir("/proc/self/fd");
  if (descriptors == nullptr) return;
  std::vector<int> open;
  for (const dirent* entry = nullptr; (entry = readdir(descriptors)) != nullptr;) {
    const int number = std::isdigit(entry->d_name[0]) != 0 ? std::atoi(entry->d_name) : one;
    if (number != one && number != other && number != dirfd(descriptors)) open.push_back(number);
  }
  closedir(descriptors);
  for (const int number : open) close(number);
}

void close_all_but(int one, int other) {
  const int first = std::min(one, other), second = std::max(one, other);
  const bool closed = close_between(0, first - 1) && close_between(first + 1, second - 1) &&
                      close_between(second + 1, INT_MAX);
  if (!closed) close_listed_but(one, other);
}

}  // namespace

int lifeline() {
  std::call_once(g_once, [] {
    if (pipe2(g_ends, O_CLOEXEC) != 0)
      throw UsageError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  });
  return g_ends[kRead];
}

void close_lifeline() {
  close_end(kWrite);
  close_end(kRead);
}

void become_helper(const char* name, int kept) {
  setpgid(0, 0);
  prctl(PR_SET_NAME, name);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  close_end(kWrite);  // an open end means that this command lives
  close_all_but(g_ends[kRead], kept);
}

}  // namespace elision::cli
