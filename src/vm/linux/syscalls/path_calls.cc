// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/path_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/host/host_limits.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/blocking_calls.h"
#include "vm/linux/syscalls/event_source_files.h"
#include "vm/linux/syscalls/guest_call.h"
#include "vm/linux/syscalls/path_translation.h"
#include "vm/linux/syscalls/proc_files.h"
#include "vm/linux/syscalls/system_calls.h"

namespace elision::vm {
namespace {

/// The path at `address` if it may need translation. Few do: looks at 4 bytes first.
std::optional<std::string> special_path(std::uint64_t address) {
  const auto start = load_guest<std::uint32_t>(address);
  if (!start) return std::nullopt;
  const std::string_view begin(reinterpret_cast<const char*>(&*start), sizeof *start);
  if (begin != "/pro" && begin != "/sys" && begin != "/dev") return std::nullopt;
  auto path = load_guest_string(address);
  if (!path || !may_need_translation(*path)) return std::nullopt;
  return path;
}

SyscallOutcome with_translated_path(Call& call, unsigned argument) {
  const auto path = special_path(call[argument]);
  if (!path) return pass_through(call);
  const std::string translated = translate_path(call.process, *path);
  call.arguments[argument] = reinterpret_cast<std::uint64_t>(translated.c_str());
  return pass_through(call);
}

/// Opens a file with these contents with `flags`.
long open_synthetic(const std::string& contents, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return -EACCES;
  const int file = memfd_create("proc", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  if (file < 0) return -errno;
  const LiftedLimits lifted;
  if (pwrite(file, contents.data(), contents.size(), 0) < 0) return close(file), -EIO;
  return file;
}

/// The path of an open folder; empty if it has none.
std::string folder_of(int descriptor) {
  char path[256];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  return size > 0 && size < static_cast<ssize_t>(sizeof path)
             ? std::string(path, static_cast<std::size_t>(size))
             : "";
}

/// Begin of an entry of getdents64. getdents, which old programs and sanitizers call, has the type as the
/// last byte behind the name.
struct FolderEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t type;
};

std::size_t name_offset(const Call& call) { return call.number == SYS_getdents ? 18 : 19; }

std::string folder_entry(const Call& call, const std::string& name, std::uint64_t number, std::uint8_t type) {
  std::string entry(name_offset(call), '\0');
  entry += name;
  entry.resize((entry.size() + 9) / 8 * 8);  // room for the zero, and for the type of getdents
  const FolderEntry head{number, static_cast<std::int64_t>(number), static_cast<std::uint16_t>(entry.size()),
                         type};
  std::memcpy(entry.data(), &head, name_offset(call));
  if (call.number == SYS_getdents) entry.back() = static_cast<char>(type);
  return entry;
}

/// Lists as many entries as fit into the buffer. The position in the host's folder counts the entries listed
/// so far.
SyscallOutcome list_folder(Call& call, std::vector<std::string> names, std::uint8_t type) {
  const long position = host_call(SYS_lseek, call[0], 0, SEEK_CUR);
  if (position < 0) return call.finish(position);
  names.insert(names.begin(), {".", ".."});
  std::string all;
  auto next = static_cast<std::size_t>(position);
  for (; next < names.size(); ++next) {
    const std::string entry = folder_entry(call, names[next], next + 1, type);
    if (all.size() + entry.size() > call[2]) break;
    all += entry;
  }
  if (all.empty() && next < names.size()) return call.finish(-EINVAL);
  if (!copy_to_guest(call[1], all.data(), all.size())) return call.finish(-EFAULT);
  host_call(SYS_lseek, call[0], next, SEEK_SET);
  return call.finish(static_cast<long>(all.size()));
}

SyscallOutcome list_threads(Call& call, const std::vector<ShownThread>& threads) {
  std::vector<std::string> names;
  for (const ShownThread& thread : threads) names.push_back(std::to_string(thread.tid));
  return list_folder(call, std::move(names), DT_DIR);
}

/// Returns the guest process whose threads are in the host's folder `folder`, or nothing.
std::optional<ShownProcess> process_of_task_folder(const Process& process, const std::string& folder) {
  int host_pid = 0, end = 0;
  if (std::sscanf(folder.c_str(), "/proc/%d/task%n", &host_pid, &end) != 1 ||
      end != static_cast<int>(folder.size()))
    return std::nullopt;
  return host_pid == process.ids.host_pid() ? shown_self(process) : shown_process(process, host_pid);
}

/// Removes the entries of reserved descriptors; returns the remaining size.
std::size_t drop_reserved_descriptors(const Call& call, std::vector<char>& entries, std::size_t size) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < size;) {
    FolderEntry head{};
    std::memcpy(&head, entries.data() + at, name_offset(call));
    const char* const name = entries.data() + at + name_offset(call);
    if (name[0] == '.' || !is_reserved_descriptor(std::atoi(name))) {
      std::memmove(entries.data() + kept, entries.data() + at, head.size);
      kept += head.size;
    }
    at += head.size;
  }
  return kept;
}

/// The path that openat names by its place in a folder of event_source_files.h.
std::optional<std::string> path_in_event_source(const Call& call) {
  if (call.integer(0) == AT_FDCWD) return std::nullopt;
  const auto folder = event_source_folder_of(folder_of(call.integer(0)));
  const auto name = folder ? load_guest_string(call[1]) : std::nullopt;
  return name && !name->starts_with("/") ? std::optional(*folder + "/" + *name) : std::nullopt;
}

SyscallOutcome open_path(Call& call, unsigned argument, int flags) {
  auto path = special_path(call[argument]);
  if (!path && argument == 1) path = path_in_event_source(call);
  if (path) {
    if (const auto contents = synthetic_file(call.process, *path))
      return call.finish(open_synthetic(*contents, flags));
    if (event_source_folder(call.process, *path)) return call.finish(open_event_source_folder(*path, flags));
    return with_translated_path(call, argument);
  }
  return open_or_wait(call, argument, flags);
}

/// What the link at this path holds for the guest, if the host's link holds something else.
std::optional<std::string> guest_link(const Call& call, const std::string& path) {
  const std::string pid = std::to_string(call.process.ids.pid());
  if (path == "/proc/self") return pid;
  if (path == "/proc/thread-self") return pid + "/task/" + std::to_string(call.self.thread.tid);
  const auto named = proc_path(call.process, path);
  return named ? executable_of(call.process, *named) : std::nullopt;
}

/// The buffer and its size are the two arguments behind the path.
SyscallOutcome read_link(Call& call, unsigned argument) {
  const auto path = special_path(call[argument]);
  const auto link = path ? guest_link(call, *path) : std::nullopt;
  if (!link) return with_translated_path(call, argument);
  const auto room = static_cast<std::int64_t>(call[argument + 2]);
  if (room <= 0) return call.finish(-EINVAL);
  const std::size_t size = std::min<std::size_t>(link->size(), static_cast<std::size_t>(room));
  const bool stored = copy_to_guest(call[argument + 1], link->data(), size);
  return call.finish(stored ? static_cast<long>(size) : -EFAULT);
}

/// Whether the call looks at a link at the end of its path instead of what it leads to.
Links links_of(const Call& call) {
  const auto stay = [&](bool stays) { return stays ? Links::kStay : Links::kFollow; };
  switch (call.number) {
    case SYS_lstat:
    case SYS_lgetxattr:
    case SYS_llistxattr:
    case SYS_lsetxattr:
    case SYS_lremovexattr:
    case SYS_lchown:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_link:
      return Links::kStay;
    case SYS_linkat:
      return stay((call.integer(4) & AT_SYMLINK_FOLLOW) == 0);
    case SYS_fchownat:
      return stay((call.integer(4) & AT_SYMLINK_NOFOLLOW) != 0);
    case SYS_utimensat:
    case SYS_faccessat2:
      return stay((call.integer(3) & AT_SYMLINK_NOFOLLOW) != 0);
    case SYS_newfstatat:
      return stay((call.integer(3) & AT_SYMLINK_NOFOLLOW) != 0);
    case SYS_statx:
      return stay((call.integer(2) & AT_SYMLINK_NOFOLLOW) != 0);
    case SYS_name_to_handle_at:
      return stay((call.integer(4) & AT_SYMLINK_FOLLOW) == 0);
    default:
      return Links::kFollow;
  }
}

}  // namespace

SyscallOutcome sys_open(Call& call) { return open_path(call, 0, call.integer(1)); }
SyscallOutcome sys_creat(Call& call) { return open_path(call, 0, O_CREAT | O_WRONLY | O_TRUNC); }
SyscallOutcome sys_openat(Call& call) { return open_path(call, 1, call.integer(2)); }
SyscallOutcome sys_openat2(Call& call) {
  return open_path(call, 1, static_cast<int>(load_guest<std::uint64_t>(call[2]).value_or(0)));
}

SyscallOutcome sys_readlink(Call& call) { return read_link(call, 0); }
SyscallOutcome sys_readlinkat(Call& call) { return read_link(call, 1); }

SyscallOutcome sys_with_paths(Call& call) {
  std::array<std::string, std::extent_v<CallArguments>> translated;
  for (const Memory& memory : find_system_call(call.number)->memory) {
    if (memory.kind != Memory::Kind::kText) continue;
    const auto path = special_path(call[memory.argument]);
    if (!path) continue;
    translated[memory.argument] = translate_path(call.process, *path, links_of(call));
    call.arguments[memory.argument] = reinterpret_cast<std::uint64_t>(translated[memory.argument].c_str());
  }
  return pass_through(call);
}

/// Shows the guest's threads and descriptors where the host's folder would show the engine's too.
SyscallOutcome sys_getdents(Call& call) {
  const std::string folder = folder_of(call.integer(0));
  const std::string own = "/proc/" + std::to_string(call.process.ids.host_pid());
  if (const auto shown = process_of_task_folder(call.process, folder))
    return list_threads(call, shown->threads);
  if (const auto shown = event_source_folder_of(folder))
    if (auto names = event_source_folder(call.process, *shown))
      return list_folder(call, std::move(*names), DT_UNKNOWN);
  if (folder != own + "/fd" && folder != own + "/fdinfo") return pass_through(call);
  std::vector<char> entries(std::min<std::uint64_t>(call[2], 1u << 20));
  std::size_t kept = 0;
  do {
    const long size = host_call(static_cast<long>(call.number), call[0],
                                reinterpret_cast<std::uint64_t>(entries.data()), entries.size());
    if (size <= 0) return call.finish(size);
    kept = drop_reserved_descriptors(call, entries, static_cast<std::size_t>(size));
  } while (kept == 0);
  const bool stored = copy_to_guest(call[1], entries.data(), kept);
  return call.finish(stored ? static_cast<long>(kept) : -EFAULT);
}

}  // namespace elision::vm
