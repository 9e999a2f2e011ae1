// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/event_source_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <set>

#include "vm/host/host_limits.h"
#include "vm/linux/events/event_branches.h"
#include "vm/linux/events/event_kinds.h"

namespace elision::vm {
namespace {

constexpr char kRoot[] = "/sys/bus/event_source";
constexpr char kMark[] = "elision";  // in the names of folders that stand for others
constexpr char kSeparator = ':';

/// Of family 6, before Ice Lake: their capacity event has another name.
constexpr unsigned kOlderModels[] = {0x3c, 0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56,
                                     0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6};

bool is_older(const MachineIdentity& machine) {
  return std::find(std::begin(kOlderModels), std::end(kOlderModels), machine.model) != std::end(kOlderModels);
}

/// All files, by path. Names and contents as in Linux arch/x86/events/intel/core.c.
std::map<std::string, std::string> files(const MachineIdentity& machine) {
  const std::string devices = std::string(kRoot) + "/devices/";
  const std::string cpu = devices + "cpu/", events = cpu + "events/", format = cpu + "format/";
  std::map<std::string, std::string> all{
      {devices + "software/type", std::to_string(PERF_TYPE_SOFTWARE)},
      {cpu + "type", std::to_string(PERF_TYPE_RAW)},
      {cpu + "caps/branches", std::to_string(branch_depth(machine))},
      {format + "event", "config:0-7"},
      {format + "umask", "config:8-15"},
      {events + "cpu-cycles", "event=0x3c"},
      {events + "instructions", "event=0xc0"},
      {events + "branch-misses", "event=0xc5"},
      {events + "cache-references", "event=0x2e,umask=0x4f"},
      {events + "cache-misses", "event=0x2e,umask=0x41"},
      {events + "mem-stores", "event=0xd0,umask=0x82"},
      {events + "ref-cycles", "event=0x00,umask=0x03"},
  };
  if (has_transactions(machine)) {
    all[format + "in_tx"] = "config:32";
    all[format + "in_tx_cp"] = "config:33";
    all[events + "tx-start"] = "event=0xc9,umask=0x1";
    all[events + "tx-commit"] = "event=0xc9,umask=0x2";
    all[events + "tx-abort"] = "event=0xc9,umask=0x4";
    all[events + "tx-conflict"] = "event=0x54,umask=0x1";
    all[events + (is_older(machine) ? "tx-capacity" : "tx-capacity-write")] = "event=0x54,umask=0x2";
    all[events + "cycles-t"] = "event=0x3c,in_tx=1";
    all[events + "cycles-ct"] = "event=0x3c,in_tx=1,in_tx_cp=1";
  }
  return all;
}

std::string without_slashes_at_end(std::string path) {
  while (path.size() > 1 && (path.back() == '/' || path.ends_with("/."))) path.pop_back();
  return path;
}

}  // namespace

bool is_event_source(const std::string& path) {
  return path.starts_with(kRoot) && (path.size() == sizeof kRoot - 1 || path[sizeof kRoot - 1] == '/');
}

std::optional<std::string> event_source_file(const Process& process, const std::string& path) {
  if (!is_event_source(path)) return std::nullopt;
  const auto all = files(process.identity);
  const auto file = all.find(path);
  return file != all.end() ? std::optional(file->second + "\n") : std::nullopt;
}

std::optional<std::vector<std::string>> event_source_folder(const Process& process, const std::string& path) {
  if (!is_event_source(path)) return std::nullopt;
  const std::string begin = without_slashes_at_end(path) + "/";
  std::set<std::string> names;
  for (const auto& [file, contents] : files(process.identity))
    if (file.starts_with(begin))
      names.insert(file.substr(begin.size(), file.find('/', begin.size()) - begin.size()));
  if (names.empty()) return std::nullopt;
  return std::vector<std::string>(names.begin(), names.end());
}

long open_event_source_folder(const std::string& path, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return -EISDIR;
  std::string name = without_slashes_at_end(path);
  std::replace(name.begin(), name.end(), '/', kSeparator);
  const LiftedLimits lifted;
  for (const std::string place : {"/dev/shm/", "/tmp/"}) {
    std::string folder = place + kMark + name + ".XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) continue;
    const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | (flags & O_CLOEXEC));
    const int error = errno;
    rmdir(folder.c_str());
    if (descriptor < 0) return -error;
    if (static_cast<rlim_t>(descriptor) < lifted.soft_before(RLIMIT_NOFILE)) return descriptor;
    close(descriptor);
    return -EMFILE;
  }
  return -errno;
}

std::optional<std::string> event_source_folder_of(const std::string& link) {
  std::string root = kRoot;
  std::replace(root.begin(), root.end(), '/', kSeparator);
  const std::size_t begin = link.find(kMark + root), end = link.rfind('.');
  if (begin == std::string::npos || end == std::string::npos || !link.ends_with(" (deleted)"))
    return std::nullopt;
  const std::size_t path = begin + sizeof kMark - 1;
  std::string result = link.substr(path, end - path);
  std::replace(result.begin(), result.end(), kSeparator, '/');
  return result;
}

}  // namespace elision::vm
