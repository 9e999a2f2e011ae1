// SPDX-License-Identifier: Apache-2.0
// The table of system calls: one row for each number of Linux arch/x86/entry/syscalls/syscall_64.tbl (SYS_*
// of the C library). A number without a row is answered with ENOSYS and one line on standard error.
#include "vm/linux/syscalls/system_calls.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include "vm/linux/signals/signal_descriptors.h"
#include "vm/linux/syscalls/blocking_calls.h"
#include "vm/linux/syscalls/child_waits.h"
#include "vm/linux/syscalls/companions.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/event_calls.h"
#include "vm/linux/syscalls/futex_calls.h"
#include "vm/linux/syscalls/guest_call.h"
#include "vm/linux/syscalls/id_calls.h"
#include "vm/linux/syscalls/limit_calls.h"
#include "vm/linux/syscalls/memory_calls.h"
#include "vm/linux/syscalls/path_calls.h"
#include "vm/linux/syscalls/policy_calls.h"
#include "vm/linux/syscalls/poll_calls.h"
#include "vm/linux/syscalls/process_calls.h"
#include "vm/linux/syscalls/signal_calls.h"
#include "vm/linux/syscalls/thread_calls.h"
#include "vm/linux/syscalls/time_calls.h"
#include "vm/linux/syscalls/timer_calls.h"
#include "vm/linux/syscalls/trace_calls.h"
#include "vm/linux/syscalls/transfer_calls.h"

namespace elision::vm {
namespace {

using namespace memory;

constexpr std::size_t kTableSize = 512;
constexpr unsigned kBlocks = Effects::kBlocks;
constexpr unsigned kBlocksUntilSignal = Effects::kBlocks | Effects::kNeverRestarts;
constexpr unsigned kPolls = kBlocksUntilSignal | Effects::kAsksForReadiness;
constexpr unsigned kMayMakeReady = Effects::kMayMakeReady;
constexpr unsigned kEndsTransactions = Effects::kEndsTransactions;
constexpr unsigned kInside = Effects::kInside;

/// Calls that programs try and do without: they would bind or watch the engine's process or address space,
/// complete asynchronously (io_*), use newer kinds of futexes, or Linux itself has dropped them. No message.
SyscallOutcome not_implemented(Call& call) { return call.finish(-ENOSYS); }

/// Administration of the machine: refused like to a user without privileges.
SyscallOutcome not_permitted(Call& call) { return call.finish(-EPERM); }

/// An interrupted call is restarted by making it again, never through this call.
SyscallOutcome sys_restart_syscall(Call& call) { return call.finish(-EINTR); }

// pass_through is for calls that cannot block, touch nothing virtual, and whose arguments suit the host.
// clone, clone3 and vfork end transactions because the child of a vfork may change the memory that it shares.
// clang-format off
#define CALL(name) SYS_##name, #name
constexpr SystemCall kRows[] = {
    {CALL(read), sys_read, {filled(1, 2)}, kBlocks | kMayMakeReady | kInside},
    {CALL(write), sys_write, {in_bytes(1, 2)}, kBlocks | kMayMakeReady | kInside},
    {CALL(open), sys_open, {text(0)}, kBlocks},
    {CALL(close), sys_close, {}, kMayMakeReady | kInside},
    {CALL(stat), sys_with_paths, {text(0), out(1, 144)}, kInside},
    {CALL(fstat), pass_through, {out(1, 144)}, kInside},
    {CALL(lstat), sys_with_paths, {text(0), out(1, 144)}, kInside},
    {CALL(poll), sys_poll, {out_each(0, 1, 8)}, kPolls | kInside},
    {CALL(lseek), pass_through, {}, kInside},
    {CALL(mmap), sys_mmap, {}, kEndsTransactions},
    {CALL(mprotect), sys_mprotect, {}, kEndsTransactions | kInside},
    {CALL(munmap), sys_munmap, {}, kEndsTransactions | kInside},
    {CALL(brk), sys_brk, {}, kEndsTransactions | kInside},
    {CALL(rt_sigaction), sys_rt_sigaction, {by_handler(1), by_handler(2)}, kInside},
    {CALL(rt_sigprocmask), sys_rt_sigprocmask, {by_handler(1), by_handler(2)}, kInside},
    {CALL(rt_sigreturn), sys_rt_sigreturn, {}, kInside},
    {CALL(ioctl), sys_ioctl, {described(2, of_ioctl)}},
    {CALL(pread64), pass_through, {filled(1, 2)}, kInside},
    {CALL(pwrite64), pass_through, {in_bytes(1, 2)}, kInside},
    {CALL(readv), sys_read, {described(1, vectors_filled)}, kBlocks | kMayMakeReady | kInside},
    {CALL(writev), sys_writev, {described(1, vectors_in)}, kBlocks | kMayMakeReady | kInside},
    {CALL(access), sys_with_paths, {text(0)}, kInside},
    {CALL(pipe), pass_through, {out(0, 8)}},
    {CALL(select), sys_select, {by_handler(1), by_handler(2), by_handler(3), by_handler(4)}, kPolls | kInside},
    {CALL(sched_yield), sys_sched_yield, {}, kInside},
    {CALL(mremap), sys_mremap, {}, kEndsTransactions | kInside},
    {CALL(msync), sys_with_aligned_range, {}, kInside},
    {CALL(mincore), sys_with_aligned_range, {out_pages(2, 1)}, kInside},
    {CALL(madvise), sys_madvise, {}, kEndsTransactions | kInside},
    {CALL(shmget), pass_through, {}},
    {CALL(shmat), sys_shmat, {not_reached(1)}, kEndsTransactions},
    {CALL(shmctl), pass_through, {perhaps_out(2, 112)}},
    {CALL(dup), pass_through, {}},
    {CALL(dup2), sys_dup2, {}, kMayMakeReady},
    {CALL(pause), sys_pause, {}, kBlocksUntilSignal | kInside},
    {CALL(nanosleep), sys_nanosleep, {by_handler(0), by_handler(1)}, kBlocksUntilSignal | kInside},
    {CALL(getitimer), sys_getitimer, {by_handler(1)}, kInside},
    {CALL(alarm), sys_alarm, {}, kInside},
    {CALL(setitimer), sys_setitimer, {by_handler(1), by_handler(2)}, kInside},
    {CALL(getpid), sys_getpid, {}, kInside, companion_getpid},
    {CALL(sendfile), sys_sendfile, {out(2, 8)}, kBlocks | kMayMakeReady},
    {CALL(socket), pass_through, {}},
    {CALL(connect), sys_connect, {in_bytes(1, 2)}, kBlocks | kMayMakeReady},
    {CALL(accept), sys_accept, {value_result(1, 2)}, kBlocks | kMayMakeReady},
    {CALL(sendto), sys_sendto, {in_bytes(1, 2), in_bytes(4, 5)}, kBlocks | kMayMakeReady},
    {CALL(recvfrom), sys_recvfrom, {filled(1, 2), value_result(4, 5)}, kBlocks | kMayMakeReady},
    {CALL(sendmsg), sys_sendmsg, {described(1, message_sent)}, kBlocks | kMayMakeReady},
    {CALL(recvmsg), sys_recvmsg, {described(1, message_received)}, kBlocks | kMayMakeReady},
    {CALL(shutdown), pass_through, {}, kMayMakeReady},
    {CALL(bind), pass_through, {in_bytes(1, 2)}},
    {CALL(listen), pass_through, {}},
    {CALL(getsockname), pass_through, {value_result(1, 2)}},
    {CALL(getpeername), pass_through, {value_result(1, 2)}},
    {CALL(socketpair), pass_through, {out(3, 8)}},
    {CALL(setsockopt), pass_through, {in_bytes(3, 4)}},
    {CALL(getsockopt), pass_through, {value_result(3, 4)}},
    {CALL(clone), sys_clone, {by_handler(2), by_handler(3), not_reached(4)}, kEndsTransactions, not_implemented},
    {CALL(fork), sys_fork, {}, 0, not_implemented},
    {CALL(vfork), sys_vfork, {}, kEndsTransactions, not_implemented},
    {CALL(execve), sys_execve, {by_handler(0), by_handler(1), by_handler(2)}, 0, not_implemented},
    {CALL(exit), sys_exit, {}, kInside, companion_exit},
    {CALL(wait4), sys_wait4, {by_handler(1), by_handler(3)}, kBlocks},
    {CALL(kill), sys_kill, {}, kMayMakeReady},
    {CALL(uname), pass_through, {out(0, 390)}, kInside},
    {CALL(semget), pass_through, {}},
    {CALL(semop), sys_semop, {in_each(1, 2, 6)}, kBlocksUntilSignal | kMayMakeReady},
    {CALL(semctl), pass_through, {described(3, of_semctl)}, kMayMakeReady},
    {CALL(shmdt), sys_shmdt, {not_reached(0)}, kEndsTransactions},
    {CALL(msgget), pass_through, {}},
    {CALL(msgsnd), sys_msgsnd, {described(1, queue_message_in)}, kBlocksUntilSignal | kMayMakeReady},
    {CALL(msgrcv), sys_msgrcv, {described(1, queue_message_out)}, kBlocksUntilSignal | kMayMakeReady},
    {CALL(msgctl), pass_through, {perhaps_out(2, 120)}},
    {CALL(fcntl), sys_fcntl, {described(2, of_fcntl)}, kBlocks},
    {CALL(flock), sys_flock, {}, kBlocks | kMayMakeReady},
    {CALL(fsync), pass_through, {}, kInside},
    {CALL(fdatasync), pass_through, {}, kInside},
    {CALL(truncate), sys_with_paths, {text(0)}},
    {CALL(ftruncate), pass_through, {}, kInside},
    {CALL(getdents), sys_getdents, {filled(1, 2)}, kInside},
    {CALL(getcwd), pass_through, {filled(0, 1)}, kInside},
    {CALL(chdir), sys_with_paths, {text(0)}, kInside},
    {CALL(fchdir), pass_through, {}, kInside},
    {CALL(rename), sys_with_paths, {text(0), text(1)}},
    {CALL(mkdir), sys_with_paths, {text(0)}},
    {CALL(rmdir), sys_with_paths, {text(0)}},
    {CALL(creat), sys_creat, {text(0)}, kBlocks},
    {CALL(link), sys_with_paths, {text(0), text(1)}},
    {CALL(unlink), sys_with_paths, {text(0)}},
    {CALL(symlink), pass_through, {text(0), text(1)}},
    {CALL(readlink), sys_readlink, {text(0), filled(1, 2)}, kInside},
    {CALL(chmod), sys_with_paths, {text(0)}},
    {CALL(fchmod), pass_through, {}},
    {CALL(chown), sys_with_paths, {text(0)}},
    {CALL(fchown), pass_through, {}},
    {CALL(lchown), sys_with_paths, {text(0)}},
    {CALL(umask), pass_through, {}, kInside},
    {CALL(gettimeofday), sys_gettimeofday, {by_handler(0), by_handler(1)}, kInside},
    {CALL(getrlimit), sys_getrlimit, {out(1, 16)}, kInside},
    {CALL(getrusage), sys_getrusage, {by_handler(1)}, kInside},
    {CALL(sysinfo), sys_sysinfo, {by_handler(0)}, kInside},
    {CALL(times), sys_times, {by_handler(0)}, kInside},
    {CALL(ptrace), not_implemented, {by_handler(2), by_handler(3)}, kInside, sys_ptrace},
    {CALL(getuid), pass_through, {}, kInside},
    {CALL(syslog), pass_through, {filled(1, 2)}},
    {CALL(getgid), pass_through, {}, kInside},
    {CALL(setuid), sys_set_credentials, {}},
    {CALL(setgid), sys_set_credentials, {}},
    {CALL(geteuid), pass_through, {}, kInside},
    {CALL(getegid), pass_through, {}, kInside},
    {CALL(setpgid), sys_setpgid, {}},
    {CALL(getppid), sys_getppid, {}, kInside, companion_getppid},
    {CALL(getpgrp), sys_process_group, {}, kInside},
    {CALL(setsid), sys_process_group, {}},
    {CALL(setreuid), sys_set_credentials, {}},
    {CALL(setregid), sys_set_credentials, {}},
    {CALL(getgroups), pass_through, {filled_each(1, 0, 4)}, kInside},
    {CALL(setgroups), sys_set_credentials, {in_each(1, 0, 4)}},
    {CALL(setresuid), sys_set_credentials, {}},
    {CALL(getresuid), pass_through, {out(0, 4), out(1, 4), out(2, 4)}, kInside},
    {CALL(setresgid), sys_set_credentials, {}},
    {CALL(getresgid), pass_through, {out(0, 4), out(1, 4), out(2, 4)}, kInside},
    {CALL(getpgid), sys_process_group, {}, kInside},
    {CALL(setfsuid), sys_set_credentials, {}},
    {CALL(setfsgid), sys_set_credentials, {}},
    {CALL(getsid), sys_process_group, {}, kInside},
    {CALL(capget), pass_through, {out(0, 8), out(1, 24)}, kInside},
    {CALL(capset), sys_set_credentials, {in(0, 8), in(1, 24)}},
    {CALL(rt_sigpending), sys_rt_sigpending, {by_handler(0)}, kInside},
    {CALL(rt_sigtimedwait), sys_rt_sigtimedwait, {by_handler(0), by_handler(1), by_handler(2)}, kBlocksUntilSignal | kInside},
    {CALL(rt_sigqueueinfo), sys_rt_sigqueueinfo, {by_handler(2)}, kMayMakeReady},
    {CALL(rt_sigsuspend), sys_rt_sigsuspend, {by_handler(0)}, kBlocksUntilSignal | kInside},
    {CALL(sigaltstack), sys_sigaltstack, {by_handler(0), by_handler(1)}, kInside},
    {CALL(utime), sys_with_paths, {text(0), in(1, 16)}},
    {CALL(mknod), sys_with_paths, {text(0)}},
    {CALL(uselib), not_implemented, {}, kInside},
    {CALL(personality), pass_through, {}},
    {CALL(ustat), pass_through, {out(1, 32)}},
    {CALL(statfs), sys_with_paths, {text(0), out(1, 120)}, kInside},
    {CALL(fstatfs), pass_through, {out(1, 120)}, kInside},
    {CALL(sysfs), pass_through, {described(1, unknown), perhaps_out(2, 256)}},
    {CALL(getpriority), sys_getpriority, {}, kInside},
    {CALL(setpriority), sys_setpriority, {}},
    {CALL(sched_setparam), sys_sched_setparam, {in(1, 4)}},
    {CALL(sched_getparam), sys_sched_getparam, {out(1, 4)}, kInside},
    {CALL(sched_setscheduler), sys_sched_setscheduler, {in(2, 4)}},
    {CALL(sched_getscheduler), sys_sched_getscheduler, {}, kInside},
    {CALL(sched_get_priority_max), pass_through, {}, kInside},
    {CALL(sched_get_priority_min), pass_through, {}, kInside},
    {CALL(sched_rr_get_interval), sys_with_pid, {out(1, 16)}, kInside},
    {CALL(mlock), sys_with_range, {}, kInside},
    {CALL(munlock), sys_with_range, {}, kInside},
    {CALL(mlockall), pass_through, {}, kInside},
    {CALL(munlockall), pass_through, {}, kInside},
    {CALL(vhangup), pass_through, {}},
    {CALL(modify_ldt), not_implemented, {}, kInside},
    {CALL(pivot_root), pass_through, {text(0), text(1)}},
    {CALL(_sysctl), not_implemented, {}, kInside},
    {CALL(prctl), sys_prctl, {described(1, of_prctl)}, kInside, companion_prctl},
    {CALL(arch_prctl), sys_arch_prctl, {by_handler(1)}, kInside},
    {CALL(adjtimex), sys_adjtimex, {by_handler(0)}},
    {CALL(setrlimit), sys_setrlimit, {in(1, 16)}, kEndsTransactions | kInside},
    {CALL(chroot), sys_with_paths, {text(0)}},
    {CALL(sync), pass_through, {}},
    {CALL(acct), pass_through, {text(0)}},
    {CALL(settimeofday), not_permitted, {}, kInside},
    {CALL(mount), pass_through, {text(0), text(1), text(2), perhaps_in(4, 4096)}},
    {CALL(umount2), pass_through, {text(0)}},
    {CALL(swapon), not_permitted, {}, kInside},
    {CALL(swapoff), not_permitted, {}, kInside},
    {CALL(reboot), not_permitted, {}, kInside},
    {CALL(sethostname), pass_through, {in_bytes(0, 1)}},
    {CALL(setdomainname), pass_through, {in_bytes(0, 1)}},
    {CALL(iopl), not_permitted, {}, kInside},
    {CALL(ioperm), not_permitted, {}, kInside},
    {CALL(create_module), not_implemented, {}, kInside},
    {CALL(init_module), not_permitted, {}, kInside},
    {CALL(delete_module), not_permitted, {}, kInside},
    {CALL(get_kernel_syms), not_implemented, {}, kInside},
    {CALL(query_module), not_implemented, {}, kInside},
    {CALL(quotactl), pass_through, {text(1), perhaps_out(3, 256)}},
    {CALL(nfsservctl), not_implemented, {}, kInside},
    {CALL(getpmsg), not_implemented, {}, kInside},
    {CALL(putpmsg), not_implemented, {}, kInside},
    {CALL(afs_syscall), not_implemented, {}, kInside},
    {CALL(tuxcall), not_implemented, {}, kInside},
    {CALL(security), not_implemented, {}, kInside},
    {CALL(gettid), sys_gettid, {}, kInside},
    {CALL(readahead), pass_through, {}, kInside},
    {CALL(setxattr), sys_with_paths, {text(0), text(1), in_bytes(2, 3)}},
    {CALL(lsetxattr), sys_with_paths, {text(0), text(1), in_bytes(2, 3)}},
    {CALL(fsetxattr), pass_through, {text(1), in_bytes(2, 3)}},
    {CALL(getxattr), sys_with_paths, {text(0), text(1), filled(2, 3)}, kInside},
    {CALL(lgetxattr), sys_with_paths, {text(0), text(1), filled(2, 3)}, kInside},
    {CALL(fgetxattr), pass_through, {text(1), filled(2, 3)}, kInside},
    {CALL(listxattr), sys_with_paths, {text(0), filled(1, 2)}, kInside},
    {CALL(llistxattr), sys_with_paths, {text(0), filled(1, 2)}, kInside},
    {CALL(flistxattr), pass_through, {filled(1, 2)}, kInside},
    {CALL(removexattr), sys_with_paths, {text(0), text(1)}},
    {CALL(lremovexattr), sys_with_paths, {text(0), text(1)}},
    {CALL(fremovexattr), pass_through, {text(1)}},
    {CALL(tkill), sys_tkill, {}, kMayMakeReady},
    {CALL(time), sys_time, {by_handler(0)}, kInside},
    {CALL(futex), sys_futex, {by_handler(0), by_handler(3), by_handler(4)}, kBlocks | kInside},
    {CALL(sched_setaffinity), sys_sched_setaffinity, {by_handler(2)}, kInside},
    {CALL(sched_getaffinity), sys_sched_getaffinity, {by_handler(2)}, kInside},
    {CALL(set_thread_area), not_implemented, {}, kInside},
    {CALL(io_setup), not_implemented, {}, kInside},
    {CALL(io_destroy), not_implemented, {}, kInside},
    {CALL(io_getevents), not_implemented, {}, kInside},
    {CALL(io_submit), not_implemented, {}, kInside},
    {CALL(io_cancel), not_implemented, {}, kInside},
    {CALL(get_thread_area), not_implemented, {}, kInside},
    {CALL(lookup_dcookie), not_implemented, {}, kInside},
    {CALL(epoll_create), pass_through, {}},
    {CALL(epoll_ctl_old), not_implemented, {}, kInside},
    {CALL(epoll_wait_old), not_implemented, {}, kInside},
    {CALL(remap_file_pages), not_implemented, {}, kInside},
    {CALL(getdents64), sys_getdents, {filled(1, 2)}, kInside},
    {CALL(set_tid_address), sys_set_tid_address, {not_reached(0)}, kInside},
    {CALL(restart_syscall), sys_restart_syscall, {}, kInside},
    {CALL(semtimedop), sys_semop, {in_each(1, 2, 6), by_handler(3)}, kBlocksUntilSignal | kMayMakeReady},
    {CALL(fadvise64), pass_through, {}, kInside},
    {CALL(timer_create), sys_timer_create, {by_handler(1), by_handler(2)}, kInside},
    {CALL(timer_settime), sys_timer_settime, {by_handler(2), by_handler(3)}, kInside},
    {CALL(timer_gettime), sys_timer_gettime, {by_handler(1)}, kInside},
    {CALL(timer_getoverrun), sys_timer_getoverrun, {}, kInside},
    {CALL(timer_delete), sys_timer_delete, {}, kInside},
    {CALL(clock_settime), sys_clock_settime, {not_reached(1)}},
    {CALL(clock_gettime), sys_clock_gettime, {by_handler(1)}, kInside},
    {CALL(clock_getres), sys_clock_getres, {by_handler(1)}, kInside},
    {CALL(clock_nanosleep), sys_clock_nanosleep, {by_handler(2), by_handler(3)}, kBlocksUntilSignal | kInside},
    {CALL(exit_group), sys_exit_group, {}, kInside, companion_exit},
    {CALL(epoll_wait), sys_epoll_wait, {filled_each(1, 2, 12)}, kPolls},
    {CALL(epoll_ctl), pass_through, {in(3, 12)}, kMayMakeReady},
    {CALL(tgkill), sys_tgkill, {}, kMayMakeReady},
    {CALL(utimes), sys_with_paths, {text(0), in(1, 32)}},
    {CALL(vserver), not_implemented, {}, kInside},
    {CALL(mbind), pass_through, {in_bits(3, 4)}, kInside},
    {CALL(set_mempolicy), pass_through, {in_bits(1, 2)}, kInside},
    {CALL(get_mempolicy), pass_through, {out(0, 4), out_bits(1, 2)}, kInside},
    {CALL(mq_open), pass_through, {text(0), in(3, 64)}},
    {CALL(mq_unlink), pass_through, {text(0)}},
    {CALL(mq_timedsend), sys_mq_transfer, {in_bytes(1, 2), by_handler(4)}, kBlocks | kMayMakeReady},
    {CALL(mq_timedreceive), sys_mq_transfer, {filled(1, 2), out(3, 4), by_handler(4)}, kBlocks | kMayMakeReady},
    {CALL(mq_notify), pass_through, {in(1, 64)}},
    {CALL(mq_getsetattr), pass_through, {in(1, 64), out(2, 64)}},
    {CALL(kexec_load), not_permitted, {}, kInside},
    {CALL(waitid), sys_waitid, {by_handler(2), by_handler(4)}, kBlocks},
    {CALL(add_key), pass_through, {text(0), text(1), in_bytes(2, 3)}},
    {CALL(request_key), pass_through, {text(0), text(1), text(2)}},
    {CALL(keyctl), pass_through, {described(1, unknown), described(2, unknown), described(3, unknown), described(4, unknown)}},
    {CALL(ioprio_set), pass_through, {}},
    {CALL(ioprio_get), pass_through, {}},
    {CALL(inotify_init), pass_through, {}},
    {CALL(inotify_add_watch), sys_with_paths, {text(1)}},
    {CALL(inotify_rm_watch), pass_through, {}},
    {CALL(migrate_pages), sys_with_pid, {in_bits(2, 1), in_bits(3, 1)}},
    {CALL(openat), sys_openat, {text(1)}, kBlocks},
    {CALL(mkdirat), sys_with_paths, {text(1)}},
    {CALL(mknodat), sys_with_paths, {text(1)}},
    {CALL(fchownat), sys_with_paths, {text(1)}},
    {CALL(futimesat), sys_with_paths, {text(1), in(2, 32)}},
    {CALL(newfstatat), sys_with_paths, {text(1), out(2, 144)}, kInside},
    {CALL(unlinkat), sys_with_paths, {text(1)}},
    {CALL(renameat), sys_with_paths, {text(1), text(3)}},
    {CALL(linkat), sys_with_paths, {text(1), text(3)}},
    {CALL(symlinkat), pass_through, {text(0), text(2)}},
    {CALL(readlinkat), sys_readlinkat, {text(1), filled(2, 3)}, kInside},
    {CALL(fchmodat), sys_with_paths, {text(1)}},
    {CALL(faccessat), sys_with_paths, {text(1)}, kInside},
    {CALL(pselect6), sys_pselect6, {by_handler(1), by_handler(2), by_handler(3), by_handler(4), by_handler(5)}, kPolls | kInside},
    {CALL(ppoll), sys_ppoll, {out_each(0, 1, 8), by_handler(2), by_handler(3)}, kPolls | kInside},
    {CALL(unshare), pass_through, {}},
    {CALL(set_robust_list), sys_set_robust_list, {not_reached(0)}, kInside},
    {CALL(get_robust_list), sys_get_robust_list, {by_handler(1), by_handler(2)}, kInside},
    {CALL(splice), sys_splice, {out(1, 8), out(3, 8)}, kBlocks | kMayMakeReady},
    {CALL(tee), sys_tee, {}, kBlocks | kMayMakeReady},
    {CALL(sync_file_range), pass_through, {}},
    {CALL(vmsplice), sys_vmsplice, {described(1, vectors_both)}, kBlocks | kMayMakeReady},
    {CALL(move_pages), sys_with_pid, {in_each(2, 1, 8), in_each(3, 1, 4), out_each(4, 1, 4)}},
    {CALL(utimensat), sys_with_paths, {text(1), in(2, 32)}},
    {CALL(epoll_pwait), sys_epoll_wait, {filled_each(1, 2, 12), by_handler(4)}, kPolls},
    {CALL(signalfd), sys_signalfd, {by_handler(1)}},
    {CALL(timerfd_create), sys_timerfd_create, {}},
    {CALL(eventfd), pass_through, {}},
    {CALL(fallocate), pass_through, {}, kInside},
    {CALL(timerfd_settime), sys_timerfd_settime, {by_handler(2), by_handler(3)}},
    {CALL(timerfd_gettime), sys_timerfd_gettime, {by_handler(1)}, kInside},
    {CALL(accept4), sys_accept, {value_result(1, 2)}, kBlocks | kMayMakeReady},
    {CALL(signalfd4), sys_signalfd, {by_handler(1)}},
    {CALL(eventfd2), pass_through, {}},
    {CALL(epoll_create1), pass_through, {}},
    {CALL(dup3), sys_dup2, {}, kMayMakeReady},
    {CALL(pipe2), pass_through, {out(0, 8)}},
    {CALL(inotify_init1), pass_through, {}},
    {CALL(preadv), pass_through, {described(1, vectors_filled)}, kInside},
    {CALL(pwritev), pass_through, {described(1, vectors_in)}, kInside},
    {CALL(rt_tgsigqueueinfo), sys_rt_tgsigqueueinfo, {by_handler(3)}, kMayMakeReady},
    {CALL(perf_event_open), sys_perf_event_open, {by_handler(0)}},
    {CALL(recvmmsg), sys_recvmmsg, {described(1, messages_received), by_handler(4)}, kBlocks | kMayMakeReady},
    {CALL(fanotify_init), pass_through, {}},
    {CALL(fanotify_mark), pass_through, {text(4)}},
    {CALL(prlimit64), sys_prlimit64, {in(2, 16), out(3, 16)}, kEndsTransactions | kInside},
    {CALL(name_to_handle_at), sys_with_paths, {text(1), out(2, 136), out(3, 4)}},
    {CALL(open_by_handle_at), pass_through, {in(1, 136)}},
    {CALL(clock_adjtime), sys_adjtimex, {by_handler(1)}},
    {CALL(syncfs), pass_through, {}},
    {CALL(sendmmsg), sys_sendmmsg, {described(1, messages_sent)}, kBlocks | kMayMakeReady},
    {CALL(setns), pass_through, {}},
    {CALL(getcpu), sys_getcpu, {by_handler(0), by_handler(1), not_reached(2)}, kInside},
    {CALL(process_vm_readv), sys_process_vm_readv, {by_handler(1), by_handler(3)}, kInside},
    {CALL(process_vm_writev), not_implemented, {}, kInside},
    {CALL(kcmp), pass_through, {perhaps_in(4, 12)}},
    {CALL(finit_module), not_permitted, {}, kInside},
    {CALL(sched_setattr), sys_sched_setattr, {in(1, 56)}},
    {CALL(sched_getattr), sys_sched_getattr, {perhaps_out_bytes(1, 2)}, kInside},
    {CALL(renameat2), sys_with_paths, {text(1), text(3)}},
    {CALL(seccomp), not_implemented, {}, kInside},
    {CALL(getrandom), sys_getrandom, {by_handler(0)}, kInside},
    {CALL(memfd_create), pass_through, {text(0)}},
    {CALL(kexec_file_load), not_permitted, {}, kInside},
    {CALL(bpf), not_implemented, {}, kInside},
    {CALL(execveat), sys_execveat, {by_handler(1), by_handler(2), by_handler(3)}, 0, not_implemented},
    {CALL(userfaultfd), not_implemented, {}, kInside},
    {CALL(membarrier), sys_membarrier, {}, kInside},
    {CALL(mlock2), sys_with_range, {}, kInside},
    {CALL(copy_file_range), pass_through, {out(1, 8), out(3, 8)}},
    {CALL(preadv2), pass_through, {described(1, vectors_filled)}, kInside},
    {CALL(pwritev2), pass_through, {described(1, vectors_in)}, kInside},
    {CALL(pkey_mprotect), sys_pkey_mprotect, {}, kEndsTransactions | kInside},
    {CALL(pkey_alloc), not_implemented, {}, kInside},
    {CALL(pkey_free), not_implemented, {}, kInside},
    {CALL(statx), sys_with_paths, {text(1), out(4, 256)}, kInside},
    {CALL(io_pgetevents), not_implemented, {}, kInside},
    {CALL(rseq), not_implemented, {}, kInside},
    {CALL(pidfd_send_signal), pass_through, {in(2, 128)}, kMayMakeReady},
    {CALL(io_uring_setup), not_implemented, {}, kInside},
    {CALL(io_uring_enter), not_implemented, {}, kInside},
    {CALL(io_uring_register), not_implemented, {}, kInside},
    {CALL(open_tree), pass_through, {text(1)}},
    {CALL(move_mount), pass_through, {text(1), text(3)}},
    {CALL(fsopen), pass_through, {text(0)}},
    {CALL(fsconfig), pass_through, {text(2), perhaps_in(3, 4096)}},
    {CALL(fsmount), pass_through, {}},
    {CALL(fspick), pass_through, {text(1)}},
    {CALL(pidfd_open), sys_pidfd_open, {}},
    {CALL(clone3), sys_clone3, {by_handler(0)}, kEndsTransactions, not_implemented},
    {CALL(close_range), sys_close_range, {}, kMayMakeReady},
    {CALL(openat2), sys_openat2, {text(1), in_bytes(2, 3)}, kBlocks},
    {CALL(pidfd_getfd), pass_through, {}},
    {CALL(faccessat2), sys_with_paths, {text(1)}, kInside},
    {CALL(process_madvise), pass_through, {in_each(1, 2, 16)}},
    {CALL(epoll_pwait2), sys_epoll_pwait2, {filled_each(1, 2, 12), by_handler(3), by_handler(4)}, kPolls},
    {CALL(mount_setattr), pass_through, {text(1), in_bytes(3, 4)}},
    {CALL(quotactl_fd), pass_through, {perhaps_out(3, 256)}},
    {CALL(landlock_create_ruleset), not_implemented, {}, kInside},
    {CALL(landlock_add_rule), not_implemented, {}, kInside},
    {CALL(landlock_restrict_self), not_implemented, {}, kInside},
    {CALL(memfd_secret), pass_through, {}},
    {CALL(process_mrelease), pass_through, {}},
    {CALL(futex_waitv), not_implemented, {}, kInside},
    {CALL(set_mempolicy_home_node), pass_through, {}},
    {451, "cachestat", pass_through, {in(1, 16), out(2, 40)}},
    {452, "fchmodat2", sys_with_paths, {text(1)}},
    {453, "map_shadow_stack", not_implemented, {}, kInside},
    {454, "futex_wake", not_implemented, {}, kInside},
    {455, "futex_wait", not_implemented, {}, kInside},
    {456, "futex_requeue", not_implemented, {}, kInside},
    {457, "statmount", pass_through, {in(0, 32), perhaps_out_bytes(1, 2)}},
    {458, "listmount", pass_through, {in(0, 32), filled_each(1, 2, 8)}},
    {459, "lsm_get_self_attr", pass_through, {value_result(1, 2)}},
    {460, "lsm_set_self_attr", not_implemented, {}, kInside},
    {461, "lsm_list_modules", pass_through, {value_result(0, 1)}},
    {462, "mseal", not_implemented, {}, kInside},
};
#undef CALL
// clang-format on

constexpr std::array<const SystemCall*, kTableSize> make_index() {
  std::array<const SystemCall*, kTableSize> index{};
  for (const SystemCall& row : kRows) index[row.number] = &row;
  return index;
}

constexpr std::array<const SystemCall*, kTableSize> kIndex = make_index();

#ifndef __SANITIZE_ADDRESS__  // with it, GCC 12 compares no addresses of functions at compile time
/// Contradictions in a row that show without making the call.
constexpr bool is_consistent(const SystemCall& row) {
  const unsigned checked = row.effects & ~kInside;
  const bool blocks = (row.effects & kBlocks) != 0;
  if ((row.effects & (Effects::kNeverRestarts | Effects::kAsksForReadiness)) != 0 && !blocks) return false;
  if (row.handler == not_implemented || row.handler == not_permitted) return row.effects == kInside;
  return row.handler != pass_through || (checked & ~kMayMakeReady) == 0;
}
static_assert(std::all_of(std::begin(kRows), std::end(kRows), is_consistent));
#endif

}  // namespace

std::span<const SystemCall> system_calls() { return kRows; }

const SystemCall* find_system_call(std::uint64_t number) {
  return number < kTableSize ? kIndex[number] : nullptr;
}

}  // namespace elision::vm
