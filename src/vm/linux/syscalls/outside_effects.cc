// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/outside_effects.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/counters.h"
#include "vm/host/guest_memory.h"
#include "vm/host/host_limits.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/linux/syscalls/system_calls.h"

namespace elision::vm {
namespace {

/// For the C library's isatty().
constexpr std::uint64_t kTerminalAttributes = 0x5401;  // TCGETS

/// The file may be written; a copy finds it written already, and writes it once more.
std::string opening(std::uint64_t address, int flags) {
  if ((flags & O_ACCMODE) == O_RDONLY && (flags & (O_CREAT | O_TRUNC)) == 0) return "";
  const auto path = load_guest_string(address);
  if (!path || *path == "/dev/null" || path->ends_with(abi::kCountersExtension)) return "";
  return "opens '" + *path + "' for writing";
}

/// A copy inherits no locks on files.
bool only_asks(std::uint64_t command) {
  return command == F_GETFD || command == F_SETFD || command == F_GETFL;
}

/// Each copy has standard descriptors of its own, and prints once more what the process has printed.
std::string using_inherited(const Call& call) {
  const int descriptor = call.integer(0);
  if (!call.process.inherited_descriptors.contains(descriptor)) return "";
  switch (call.number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
      return descriptor == STDIN_FILENO
                 ? "reads its standard input"
                 : "reads descriptor " + std::to_string(descriptor) + ", which it has inherited";
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
      if (descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO) return "";
      return "writes to descriptor " + std::to_string(descriptor) + ", which it has inherited";
    case SYS_lseek:
      if (call[1] == 0 && call[2] == SEEK_CUR) return "";
      [[fallthrough]];
    case SYS_ftruncate:
    case SYS_fallocate:
      return "changes descriptor " + std::to_string(descriptor) + ", which it has inherited";
    default:
      return "";
  }
}

/// `flags`: of clone.
std::string starting(std::uint64_t flags) {
  return (flags & CLONE_THREAD) != 0 ? "starts a thread" : "starts a process";
}

std::string mapping(const Call& call) {
  const bool is_anonymous = (call[3] & MAP_ANONYMOUS) != 0, is_shared = (call[3] & MAP_SHARED) != 0;
  const bool is_inherited = !is_anonymous && call.process.inherited_descriptors.contains(call.integer(4));
  if (is_shared && (is_anonymous || is_inherited)) return "maps memory that processes share";
  return is_inherited ? "maps descriptor " + std::to_string(call.integer(4)) + ", which it has inherited"
                      : "";
}

/// Of itself, a process may change the limits.
bool changes_limit_of_another(const Call& call) {
  return call.integer(0) != 0 && call.integer(0) != getpid() && call[2] != 0;
}

template <class Use>
void for_each_opened(const Process& process, Use use) {
  const LiftedLimits lifted;
  for (const int descriptor : open_descriptors())
    if (!is_reserved_descriptor(descriptor) && !process.inherited_descriptors.contains(descriptor))
      use(descriptor);
}

std::string own_link(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

enum class FileKind { kReopened, kStateless, kShared };

FileKind kind_of(int descriptor) {
  struct stat status {};
  const int flags = fcntl(descriptor, F_GETFL);
  if (fstat(descriptor, &status) != 0 || flags < 0) return FileKind::kShared;
  if (S_ISCHR(status.st_mode) || (flags & O_PATH) != 0) return FileKind::kStateless;
  const bool has_position = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
  return has_position && (flags & O_ACCMODE) == O_RDONLY ? FileKind::kReopened : FileKind::kShared;
}

}  // namespace

std::string outside_effect(const Call& call) {
  switch (call.number) {
    case SYS_open:
      return opening(call[0], call.integer(1));
    case SYS_openat:
      return opening(call[1], call.integer(2));
    case SYS_mmap:
      return mapping(call);
    case SYS_prlimit64:
      return changes_limit_of_another(call) ? "changes a limit of another process" : "";
    case SYS_fcntl:
      return only_asks(call[1]) ? "" : "calls fcntl";
    case SYS_ioctl:
      return call[1] == kTerminalAttributes ? "" : "calls ioctl";
    case SYS_fork:
    case SYS_vfork:
      return starting(0);
    case SYS_clone:
      return starting(call[0]);
    case SYS_clone3:
      return starting(load_guest<std::uint64_t>(call[0]).value_or(0));
    default:
      break;
  }
  if (std::string why = using_inherited(call); !why.empty()) return why;
  if (call.states(Effects::kInside)) return "";
  const SystemCall* const row = find_system_call(call.number);
  return row != nullptr ? std::string("calls ") + row->name : "";
}

std::string why_descriptors_are_shared(const Process& process) {
  std::string why;
  for_each_opened(process, [&](int descriptor) {
    if (why.empty() && kind_of(descriptor) == FileKind::kShared)
      why = "has descriptor " + std::to_string(descriptor) + ", which copies of it would share";
  });
  return why;
}

void reopen_files(const Process& process) {
  for_each_opened(process, [](int descriptor) {
    if (kind_of(descriptor) != FileKind::kReopened) return;
    const int flags = fcntl(descriptor, F_GETFL);
    const int own = open(own_link(descriptor).c_str(), flags | O_CLOEXEC);
    if (own < 0) return;  // the file may since belong to another user: the position stays shared
    lseek(own, lseek(descriptor, 0, SEEK_CUR), SEEK_SET);
    const bool is_closed_on_exec = (fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0;
    dup3(own, descriptor, is_closed_on_exec ? O_CLOEXEC : 0);
    close(own);
  });
}

}  // namespace elision::vm
