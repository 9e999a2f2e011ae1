// SPDX-License-Identifier: Apache-2.0
// Numbers are those of Linux arch/x86/entry/syscalls/syscall_64.tbl (SYS_* of the C library). Each that has a
// name is in one list below; any other is answered with ENOSYS and one line on standard error.
#include "vm/kernel/system_calls.h"

#include <sys/syscall.h>

#include <array>
#include <cerrno>

#include "vm/kernel/blocking_calls.h"
#include "vm/kernel/futex_calls.h"
#include "vm/kernel/host_call.h"
#include "vm/kernel/id_calls.h"
#include "vm/kernel/memory_calls.h"
#include "vm/kernel/path_calls.h"
#include "vm/kernel/poll_calls.h"
#include "vm/kernel/process_calls.h"
#include "vm/kernel/signal_calls.h"
#include "vm/kernel/thread_calls.h"
#include "vm/kernel/time_calls.h"
#include "vm/kernel/timer_calls.h"
#include "vm/kernel/transfer_calls.h"

namespace elision::vm {
namespace {

constexpr std::size_t kTableSize = 512;

// Newer than the oldest C library's header in use.
constexpr unsigned kCachestat = 451, kFchmodat2 = 452, kMapShadowStack = 453, kFutexWake = 454,
                   kFutexWait = 455, kFutexRequeue = 456, kStatmount = 457, kListmount = 458,
                   kLsmGetSelfAttr = 459, kLsmSetSelfAttr = 460, kLsmListModules = 461, kMseal = 462;

/// Known, and refused without a word: programs try them and fall back.
SyscallOutcome not_implemented(Call& call) { return call.finish(-ENOSYS); }

SyscallOutcome not_permitted(Call& call) { return call.finish(-EPERM); }

/// Nothing is ever left to be restarted by it: our restarts repeat the call itself.
SyscallOutcome sys_restart_syscall(Call& call) { return call.finish(-EINTR); }

struct Entry {
  unsigned number;
  CallHandler handler;
};

constexpr Entry kHandlers[] = {
    {SYS_arch_prctl, sys_arch_prctl},
    {SYS_brk, sys_brk},
    {SYS_clock_getres, sys_clock_getres},
    {SYS_clock_gettime, sys_clock_gettime},
    {SYS_clock_nanosleep, sys_clock_nanosleep},
    {SYS_adjtimex, sys_adjtimex},
    {SYS_clock_adjtime, sys_adjtimex},
    {SYS_clock_settime, sys_clock_settime},
    {kFchmodat2, sys_with_path_at},
    {SYS_migrate_pages, sys_with_pid},
    {SYS_move_pages, sys_with_pid},
    {SYS_restart_syscall, sys_restart_syscall},
    {SYS_clone, sys_clone},
    {SYS_exit, sys_exit},
    {SYS_exit_group, sys_exit_group},
    {SYS_futex, sys_futex},
    {SYS_get_robust_list, sys_get_robust_list},
    {SYS_getcpu, sys_getcpu},
    {SYS_getrandom, sys_getrandom},
    {SYS_getrusage, sys_getrusage},
    {SYS_sysinfo, sys_sysinfo},
    {SYS_gettid, sys_gettid},
    {SYS_gettimeofday, sys_gettimeofday},
    {SYS_madvise, sys_madvise},
    {SYS_membarrier, sys_membarrier},
    {SYS_mmap, sys_mmap},
    {SYS_mq_timedreceive, sys_mq_transfer},
    {SYS_mq_timedsend, sys_mq_transfer},
    {SYS_msgrcv, sys_msgrcv},
    {SYS_msgsnd, sys_msgsnd},
    {SYS_mprotect, sys_mprotect},
    {SYS_mremap, sys_mremap},
    {SYS_munmap, sys_munmap},
    {SYS_nanosleep, sys_nanosleep},
    {SYS_pkey_mprotect, sys_pkey_mprotect},
    {SYS_sched_getaffinity, sys_sched_getaffinity},
    {SYS_sched_setaffinity, sys_sched_setaffinity},
    {SYS_sched_yield, sys_sched_yield},
    {SYS_set_robust_list, sys_set_robust_list},
    {SYS_set_tid_address, sys_set_tid_address},
    {SYS_shmat, sys_shmat},
    {SYS_shmdt, sys_shmdt},
    {SYS_time, sys_time},
    {SYS_times, sys_times},
    {SYS_accept, sys_accept},
    {SYS_accept4, sys_accept},
    {SYS_access, sys_with_path},
    {SYS_alarm, sys_alarm},
    {SYS_clone3, sys_clone3},
    {SYS_close, sys_close},
    {SYS_close_range, sys_close_range},
    {SYS_connect, sys_connect},
    {SYS_dup2, sys_dup2},
    {SYS_dup3, sys_dup2},
    {SYS_creat, sys_open},
    {SYS_epoll_pwait, sys_epoll_wait},
    {SYS_epoll_pwait2, sys_epoll_pwait2},
    {SYS_epoll_wait, sys_epoll_wait},
    {SYS_execve, sys_execve},
    {SYS_execveat, sys_execveat},
    {SYS_faccessat, sys_with_path_at},
    {SYS_faccessat2, sys_with_path_at},
    {SYS_fcntl, sys_fcntl},
    {SYS_flock, sys_flock},
    {SYS_fork, sys_fork},
    {SYS_getitimer, sys_getitimer},
    {SYS_getdents64, sys_getdents64},
    {SYS_getpgid, sys_process_group},
    {SYS_getpgrp, sys_process_group},
    {SYS_getpid, sys_getpid},
    {SYS_getppid, sys_getppid},
    {SYS_getpriority, sys_priority},
    {SYS_getsid, sys_process_group},
    {SYS_ioctl, sys_ioctl},
    {SYS_kill, sys_kill},
    {SYS_lstat, sys_with_path},
    {SYS_newfstatat, sys_with_path_at},
    {SYS_open, sys_open},
    {SYS_openat, sys_open},
    {SYS_openat2, sys_open},
    {SYS_pause, sys_pause},
    {SYS_pidfd_open, sys_pidfd_open},
    {SYS_poll, sys_poll},
    {SYS_ppoll, sys_ppoll},
    {SYS_prctl, sys_prctl},
    {SYS_prlimit64, sys_with_pid},
    {SYS_pselect6, sys_pselect6},
    {SYS_read, sys_read},
    {SYS_readlink, sys_readlink},
    {SYS_readlinkat, sys_readlink},
    {SYS_readv, sys_read},
    {SYS_recvfrom, sys_recvfrom},
    {SYS_recvmmsg, sys_recvmmsg},
    {SYS_recvmsg, sys_recvmsg},
    {SYS_rt_sigaction, sys_rt_sigaction},
    {SYS_rt_sigpending, sys_rt_sigpending},
    {SYS_rt_sigprocmask, sys_rt_sigprocmask},
    {SYS_rt_sigqueueinfo, sys_rt_sigqueueinfo},
    {SYS_rt_sigreturn, sys_rt_sigreturn},
    {SYS_rt_sigsuspend, sys_rt_sigsuspend},
    {SYS_rt_sigtimedwait, sys_rt_sigtimedwait},
    {SYS_rt_tgsigqueueinfo, sys_rt_tgsigqueueinfo},
    {SYS_sched_getattr, sys_with_pid},
    {SYS_sched_getparam, sys_with_pid},
    {SYS_sched_getscheduler, sys_with_pid},
    {SYS_sched_rr_get_interval, sys_with_pid},
    {SYS_sched_setattr, sys_with_pid},
    {SYS_sched_setparam, sys_with_pid},
    {SYS_sched_setscheduler, sys_with_pid},
    {SYS_select, sys_select},
    {SYS_semop, sys_semop},
    {SYS_semtimedop, sys_semop},
    {SYS_sendfile, sys_copy},
    {SYS_sendmmsg, sys_sendmmsg},
    {SYS_sendmsg, sys_sendmsg},
    {SYS_sendto, sys_sendto},
    {SYS_setitimer, sys_setitimer},
    {SYS_setpgid, sys_setpgid},
    {SYS_setpriority, sys_priority},
    {SYS_setsid, sys_process_group},
    {SYS_sigaltstack, sys_sigaltstack},
    {SYS_signalfd, sys_signalfd},
    {SYS_signalfd4, sys_signalfd},
    {SYS_splice, sys_copy},
    {SYS_stat, sys_with_path},
    {SYS_statx, sys_with_path_at},
    {SYS_tee, sys_copy},
    {SYS_tgkill, sys_tgkill},
    {SYS_timer_create, sys_timer_create},
    {SYS_timer_delete, sys_timer_delete},
    {SYS_timer_getoverrun, sys_timer_getoverrun},
    {SYS_timer_gettime, sys_timer_gettime},
    {SYS_timer_settime, sys_timer_settime},
    {SYS_timerfd_create, sys_timerfd_create},
    {SYS_timerfd_gettime, sys_timerfd_gettime},
    {SYS_timerfd_settime, sys_timerfd_settime},
    {SYS_tkill, sys_tkill},
    {SYS_vfork, sys_vfork},
    {SYS_vmsplice, sys_vmsplice},
    {SYS_wait4, sys_wait4},
    {SYS_waitid, sys_waitid},
    {SYS_write, sys_write},
    {SYS_writev, sys_writev},
};

/// What would bind or watch the engine, what Linux has no more, and what is not worth it: programs can do
/// without.
constexpr unsigned kRefused[] = {
    // Of the engine's process or address space.
    SYS_rseq, SYS_userfaultfd, SYS_perf_event_open, SYS_bpf, SYS_ptrace, SYS_process_vm_readv,
    SYS_process_vm_writev, SYS_seccomp, SYS_landlock_create_ruleset, SYS_landlock_add_rule,
    SYS_landlock_restrict_self, SYS_modify_ldt, SYS_set_thread_area, SYS_get_thread_area, SYS_pkey_alloc,
    SYS_pkey_free, SYS_remap_file_pages, kMapShadowStack, kMseal, kLsmSetSelfAttr,
    // They complete behind the caller's back.
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_io_setup, SYS_io_destroy,
    SYS_io_getevents, SYS_io_submit, SYS_io_cancel, SYS_io_pgetevents,
    // Futexes of newer kinds.
    SYS_futex_waitv, kFutexWake, kFutexWait, kFutexRequeue,
    // Not in Linux either (any more).
    SYS_uselib, SYS__sysctl, SYS_create_module, SYS_get_kernel_syms, SYS_query_module, SYS_nfsservctl,
    SYS_getpmsg, SYS_putpmsg, SYS_afs_syscall, SYS_tuxcall, SYS_security, SYS_lookup_dcookie,
    SYS_epoll_ctl_old, SYS_epoll_wait_old, SYS_vserver};

/// The machine's administration: as to somebody without the rights.
constexpr unsigned kNotPermitted[] = {SYS_settimeofday,  SYS_reboot,     SYS_swapon,         SYS_swapoff,
                                      SYS_iopl,          SYS_ioperm,     SYS_init_module,    SYS_finit_module,
                                      SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load};

/// Calls that cannot block, act on nothing that is virtual, and whose arguments the host can take as
/// they are.
constexpr unsigned kPassedThrough[] = {
    SYS_copy_file_range,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_semget,
    SYS_semctl,
    SYS_shmget,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgctl,
    SYS_mount,
    SYS_add_key,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_keyctl,
    SYS_memfd_secret,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_open_tree,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_pivot_root,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_request_key,
    SYS_set_mempolicy_home_node,
    kCachestat,
    kStatmount,
    kListmount,
    kLsmGetSelfAttr,
    kLsmListModules,
    SYS_mq_getsetattr,
    SYS_mq_notify,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_umount2,
    SYS_unshare,
    SYS_setns,
    SYS_setdomainname,
    SYS_mlockall,
    SYS_munlockall,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_ustat,
    SYS_sysfs,
    SYS_syslog,
    SYS_acct,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_kcmp,
    SYS_getdents,

    SYS_capget,
    SYS_capset,
    SYS_chdir,
    SYS_chmod,
    SYS_chown,
    SYS_chroot,

    SYS_dup,
    SYS_epoll_create,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_eventfd,
    SYS_eventfd2,

    SYS_fadvise64,
    SYS_fallocate,
    SYS_fchdir,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_fdatasync,
    SYS_fgetxattr,
    SYS_flistxattr,
    SYS_fremovexattr,
    SYS_fsetxattr,
    SYS_fstat,
    SYS_fstatfs,
    SYS_fsync,
    SYS_ftruncate,
    SYS_futimesat,
    SYS_get_mempolicy,
    SYS_getcwd,
    SYS_getdents,
    SYS_getegid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getgroups,
    SYS_getpeername,
    SYS_getresgid,
    SYS_getresuid,
    SYS_getrlimit,
    SYS_getsockname,
    SYS_getsockopt,
    SYS_getuid,
    SYS_getxattr,
    SYS_inotify_add_watch,
    SYS_inotify_init,
    SYS_inotify_init1,
    SYS_inotify_rm_watch,
    SYS_ioprio_get,
    SYS_ioprio_set,
    SYS_lchown,
    SYS_lgetxattr,
    SYS_link,
    SYS_linkat,
    SYS_listen,
    SYS_bind,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_lremovexattr,
    SYS_lseek,
    SYS_lsetxattr,
    SYS_mbind,
    SYS_memfd_create,
    SYS_mincore,
    SYS_mkdir,
    SYS_mkdirat,
    SYS_mknod,
    SYS_mknodat,
    SYS_mlock,
    SYS_mlock2,
    SYS_msync,
    SYS_munlock,

    SYS_statfs,

    SYS_personality,
    SYS_pipe,
    SYS_pipe2,

    SYS_pread64,
    SYS_preadv,
    SYS_preadv2,

    SYS_pwrite64,
    SYS_pwritev,
    SYS_pwritev2,
    SYS_readahead,

    SYS_removexattr,
    SYS_rename,
    SYS_renameat,
    SYS_renameat2,
    SYS_rmdir,

    SYS_set_mempolicy,
    SYS_setfsgid,
    SYS_setfsuid,
    SYS_setgid,
    SYS_setgroups,
    SYS_sethostname,
    SYS_setregid,
    SYS_setresgid,
    SYS_setresuid,
    SYS_setreuid,
    SYS_setrlimit,
    SYS_setsockopt,
    SYS_setuid,
    SYS_setxattr,
    SYS_shutdown,
    SYS_socket,
    SYS_socketpair,
    SYS_symlink,
    SYS_symlinkat,
    SYS_sync,
    SYS_sync_file_range,
    SYS_syncfs,
    SYS_truncate,
    SYS_umask,
    SYS_uname,
    SYS_unlink,
    SYS_unlinkat,
    SYS_utime,
    SYS_utimensat,
    SYS_utimes,
    SYS_vhangup,
};

constexpr std::array<CallHandler, kTableSize> make_table() {
  std::array<CallHandler, kTableSize> table{};
  for (const unsigned number : kPassedThrough) table[number] = pass_through;
  for (const unsigned number : kRefused) table[number] = not_implemented;
  for (const unsigned number : kNotPermitted) table[number] = not_permitted;
  for (const Entry& entry : kHandlers) table[entry.number] = entry.handler;
  return table;
}

constexpr std::array<CallHandler, kTableSize> kTable = make_table();

}  // namespace

SyscallOutcome pass_through(Call& call) {
  return call.finish(
      host_call(static_cast<long>(call.number), call[0], call[1], call[2], call[3], call[4], call[5]));
}

bool asks_for_readiness(std::uint64_t number) {
  switch (number) {
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return true;
    default:
      return false;
  }
}

bool may_make_ready(std::uint64_t number) {
  switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_close:
    case SYS_close_range:
    case SYS_dup2:
    case SYS_dup3:
    case SYS_shutdown:
    case SYS_connect:
    case SYS_accept:
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_semctl:
    case SYS_msgsnd:
    case SYS_msgrcv:
    case SYS_flock:
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
    case SYS_pidfd_send_signal:
    case SYS_epoll_ctl:
      return true;
    default:
      return false;
  }
}

CallHandler find_call_handler(std::uint64_t number) { return number < kTableSize ? kTable[number] : nullptr; }

}  // namespace elision::vm
