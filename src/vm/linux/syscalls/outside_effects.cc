// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/outside_effects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "abi/counters.h"
#include "vm/host/guest_memory.h"
#include "vm/host/host_limits.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/linux/syscalls/system_calls.h"

namespace elision::vm {
namespace {

/// Calls that read what is outside, or change what a copy has for itself: memory, signals, timers, limits,
/// the position of files. Of those with further conditions, outside_effect() knows them. write() is one:
/// what the process can write to it has inherited, or opened for writing.
// clang-format off
constexpr unsigned kHarmless[] = {
    SYS_read, SYS_write, SYS_close, SYS_stat, SYS_fstat, SYS_lstat, SYS_poll, SYS_lseek, SYS_mprotect,
    SYS_munmap, SYS_brk, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_pread64, SYS_pwrite64,
    SYS_readv, SYS_writev, SYS_access, SYS_select, SYS_sched_yield, SYS_mremap, SYS_msync, SYS_mincore,
    SYS_madvise, SYS_pause, SYS_nanosleep, SYS_getitimer, SYS_alarm, SYS_setitimer, SYS_getpid, SYS_exit,
    SYS_uname, SYS_fsync, SYS_fdatasync, SYS_ftruncate, SYS_getdents, SYS_getcwd, SYS_chdir, SYS_fchdir,
    SYS_readlink, SYS_umask, SYS_gettimeofday, SYS_getrlimit, SYS_getrusage, SYS_sysinfo, SYS_times,
    SYS_getuid, SYS_getgid, SYS_geteuid, SYS_getegid, SYS_getppid, SYS_getpgrp, SYS_getgroups,
    SYS_getresuid, SYS_getresgid, SYS_getpgid, SYS_getsid, SYS_rt_sigpending, SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend, SYS_sigaltstack, SYS_statfs, SYS_fstatfs, SYS_getpriority, SYS_sched_getparam,
    SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_mlock, SYS_munlock,
    SYS_mlockall, SYS_munlockall, SYS_prctl, SYS_arch_prctl, SYS_setrlimit, SYS_gettid, SYS_readahead,
    SYS_time, SYS_futex, SYS_sched_setaffinity, SYS_sched_getaffinity, SYS_getdents64, SYS_set_tid_address,
    SYS_restart_syscall, SYS_fadvise64, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime,
    SYS_timer_getoverrun, SYS_timer_delete, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep,
    SYS_exit_group, SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_newfstatat, SYS_readlinkat,
    SYS_faccessat, SYS_pselect6, SYS_ppoll, SYS_set_robust_list, SYS_get_robust_list, SYS_fallocate,
    SYS_preadv, SYS_pwritev, SYS_prlimit64, SYS_getcpu, SYS_getrandom, SYS_membarrier, SYS_mlock2,
    SYS_preadv2, SYS_pwritev2, SYS_pkey_mprotect, SYS_pkey_alloc, SYS_pkey_free, SYS_statx, SYS_rseq,
    SYS_faccessat2};
// clang-format on

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
    default:
      return "";
  }
}

std::string name_of(std::uint64_t number) {
  const SystemCall* const row = find_system_call(number);
  return row != nullptr ? row->name : "an unknown system call";
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
      if ((call[3] & MAP_SHARED) == 0 || (call[3] & MAP_ANONYMOUS) == 0) return "";
      return "maps memory that processes share";
    case SYS_fcntl:
      return only_asks(call[1]) ? "" : "calls fcntl";
    case SYS_ioctl:
      return call[1] == kTerminalAttributes ? "" : "calls ioctl";
    default:
      break;
  }
  if (std::string why = using_inherited(call); !why.empty()) return why;
  if (std::find(std::begin(kHarmless), std::end(kHarmless), call.number) != std::end(kHarmless)) return "";
  return "calls " + name_of(call.number);
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
