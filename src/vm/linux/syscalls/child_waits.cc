// SPDX-License-Identifier: Apache-2.0
// The choice of the child follows Linux (kernel/exit.c: wait_consider_child, eligible_child).
#include "vm/linux/syscalls/child_waits.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/process/guest_door.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/companions.h"
#include "vm/linux/syscalls/credential_calls.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kClones = __WALL | __WCLONE | __WNOTHREAD;
constexpr std::uint64_t kChanges = WEXITED | WSTOPPED | WCONTINUED;

/// A call of wait4 or waitid.
struct ChildWait {
  idtype_t type;  // P_ALL, P_PID, P_PGID or P_PIDFD
  int id;
  std::uint64_t options;  // waitid's
  /// The call's result if a child of the host's process ends it; nothing if none has changed.
  std::function<std::optional<long>()> try_host;
  /// Stores the change of a companion or a traced thread. `si_pid` 0: nothing has changed.
  std::function<long(const siginfo_t&)> store;
  /// The call's result for an error. Stores what Linux stores on errors.
  std::function<long(long)> fail;
  bool never_blocks = false;  // of a descriptor with O_NONBLOCK
};

/// Companions and traced threads are in the process's group.
bool matches(const Process& process, const ChildWait& wait, int pid) {
  if (wait.type == P_PGID) return wait.id == 0 || wait.id == process.ids.to_guest(getpgrp());
  return wait.type == P_ALL || (wait.type == P_PID && wait.id == pid);
}

/// wait(2): a wait takes a child that sends no SIGCHLD only if its options say so.
bool is_eligible(bool sends_sigchld, std::uint64_t options) {
  return (options & __WALL) != 0 || ((options & __WCLONE) != 0) != sends_sigchld;
}

bool may_take(const Call& call, const ChildWait& wait, const EndedCompanion& ended) {
  return (wait.options & WEXITED) != 0 && ended.parent == process_number(call.process, call.self) &&
         matches(call.process, wait, ended.pid) && is_eligible(ended.sends_sigchld, wait.options);
}

bool may_take(const Call& call, const ChildWait& wait, const KernelThread& traced) {
  return traced.tracing.tracer == call.thread().tid && matches(call.process, wait, traced.thread.tid);
}

/// True if a companion of the caller, or a thread that it traces, can end the wait.
bool awaits_companion(const Call& call, const ChildWait& wait) {
  const Process& process = call.process;
  const auto traced = [&](const auto& thread) { return may_take(call, wait, *thread); };
  const auto ended = [&](const EndedCompanion& each) { return may_take(call, wait, each); };
  const auto lives = [&](const auto& each) {
    return each->companion->parent == process_number(process, call.self) &&
           matches(process, wait, each->thread.tid) &&
           is_eligible(each->companion->exit_signal == SIGCHLD, wait.options);
  };
  return std::any_of(process.threads.begin(), process.threads.end(), traced) ||
         std::any_of(process.companions.begin(), process.companions.end(), lives) ||
         std::any_of(process.ended_companions.begin(), process.ended_companions.end(), ended);
}

siginfo_t change_of(const Call& call, int pid, int code, int status) {
  siginfo_t info{};
  info.si_signo = SIGCHLD;
  info.si_code = code;
  info.si_pid = pid;
  info.si_uid = static_cast<uid_t>(call_as(call.self, SYS_getuid));
  info.si_status = status;
  return info;
}

/// Takes a change of a companion or traced thread, if there is one.
std::optional<siginfo_t> take_change(const Call& call, const ChildWait& wait) {
  Process& process = call.process;
  const bool keeps = (wait.options & WNOWAIT) != 0;
  for (const auto& thread : process.threads) {
    if (!may_take(call, wait, *thread) || thread->tracing.stop != TraceStop::kStopped) continue;
    if (!keeps) thread->tracing.stop = TraceStop::kReported;
    return change_of(call, thread->thread.tid, CLD_TRAPPED, SIGSTOP);
  }
  auto& ended = process.ended_companions;
  const auto found = std::find_if(ended.begin(), ended.end(),
                                  [&](const EndedCompanion& each) { return may_take(call, wait, each); });
  if (found == ended.end()) return std::nullopt;
  const siginfo_t info = change_of(call, found->pid, CLD_EXITED, WEXITSTATUS(found->status));
  if (!keeps) ended.erase(found);
  return info;
}

/// The result of the wait if it can end now. A companion has no children in the host. The number of a
/// companion belongs to no child in the host.
std::optional<long> try_wait(const Call& call, const ChildWait& wait) {
  if (const auto change = take_change(call, wait)) return wait.store(*change);
  bool has_children = awaits_companion(call, wait);
  if (call.self.companion == nullptr && !(has_children && wait.type == P_PID)) {
    const std::optional<long> host = wait.try_host();
    if (host && *host != -ECHILD) return host;
    has_children = has_children || !host;
  }
  if (!has_children) return wait.fail(-ECHILD);
  if ((wait.options & WNOHANG) != 0) return wait.store({});
  return wait.never_blocks ? std::optional(wait.fail(-EAGAIN)) : std::nullopt;
}

SyscallOutcome wait_for_child(Call& call, const ChildWait& child_wait) {
  if (const auto result = try_wait(call, child_wait)) return call.finish(*result);
  Wait wait;
  wait.for_children = true;
  // Without a signal that says so, try again and again: children of a process that ignores SIGCHLD vanish
  // silently, and SA_NOCLDSTOP suppresses the signals of stops.
  const SignalAction& action = call.process.actions[SIGCHLD];
  const bool silent_stops =
      (action.flags & SA_NOCLDSTOP) != 0 && (child_wait.options & (WSTOPPED | WCONTINUED)) != 0;
  wait.periodic = silent_stops || action.handler == reinterpret_cast<std::uint64_t>(SIG_IGN) ||
                  (action.flags & SA_NOCLDWAIT) != 0;
  wait.attempt = [call, child_wait] {
    const auto result = try_wait(call, child_wait);
    if (result) call.finish(*result);
    return result.has_value();
  };
  return park(call, std::move(wait));
}

/// Stores a child's CPU time at `address`, if that is not null. The time of a child that is gone is added to
/// the caller's children. False on a bad address.
bool store_usage(const Call& call, int host_pid, bool gone, std::uint64_t address) {
  const Nanoseconds time = call.process.cpu_time_board.look(host_pid, gone);
  if (gone) call.process.children_cpu_time += time;
  rusage usage{};
  usage.ru_utime = to_timeval(time);
  return address == 0 || store_guest(address, usage);
}

/// Stores the outcome of the host's wait4, and returns the guest's result.
long end_wait4(const Call& call, long result, int status) {
  if (result <= 0) return result;
  const bool gone = WIFEXITED(status) || WIFSIGNALED(status);
  const bool stored = call[1] == 0 || store_guest(call[1], status);
  return store_usage(call, static_cast<int>(result), gone, call[3]) && stored ? result : -EFAULT;
}

/// The thread that runs the engine is the parent of the host's children, whatever credentials the caller has.
/// It makes the call itself: __WNOTHREAD would hide them from a holder of other credentials.
std::optional<long> try_wait4(const Call& call, int host_pid) {
  int status = 0;
  const long result = host_call(SYS_wait4, static_cast<std::uint64_t>(host_pid),
                                reinterpret_cast<std::uint64_t>(&status), call[2] | WNOHANG);
  if (result == 0) return std::nullopt;
  return end_wait4(call, result, status);
}

long store_wait4(const Call& call, const siginfo_t& change) {
  if (change.si_pid == 0) return 0;
  const int status =
      change.si_code == CLD_EXITED ? W_EXITCODE(change.si_status, 0) : W_STOPCODE(change.si_status);
  if (call[1] != 0 && !store_guest(call[1], status)) return -EFAULT;
  return call[3] == 0 || store_guest(call[3], rusage{}) ? change.si_pid : -EFAULT;
}

/// Stores the members that Linux stores, on errors too, and leaves the rest. False on a bad address.
bool store_change(const Call& call, const siginfo_t& change) {
  if (call[2] == 0) return true;
  constexpr std::size_t kSecondPart = offsetof(siginfo_t, si_pid);
  const auto* const bytes = reinterpret_cast<const char*>(&change);
  return copy_to_guest(call[2], bytes, 3 * sizeof(int)) &&
         copy_to_guest(call[2] + kSecondPart, bytes + kSecondPart, 3 * sizeof(int));
}

long fail_waitid(const Call& call, long error) { return store_change(call, {}) ? error : -EFAULT; }

std::optional<long> try_waitid(const Call& call, int host_id) {
  siginfo_t info{};
  const long result = host_call(SYS_waitid, call[0], static_cast<std::uint64_t>(host_id),
                                reinterpret_cast<std::uint64_t>(&info), call[3] | WNOHANG);
  if (result == 0 && info.si_pid == 0) return std::nullopt;
  if (result == -ECHILD) return result;  // of the host; there may be others
  if (result != 0) return fail_waitid(call, result);
  const bool ended = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
  const bool stored = store_change(call, info);
  return store_usage(call, info.si_pid, ended && (call[3] & WNOWAIT) == 0, call[4]) && stored ? 0 : -EFAULT;
}

long store_waitid(const Call& call, const siginfo_t& change) {
  if (!store_change(call, change)) return -EFAULT;
  return change.si_pid == 0 || call[4] == 0 || store_guest(call[4], rusage{}) ? 0 : -EFAULT;
}

/// wait4 for a child in the host, while nothing else can run.
SyscallOutcome wait4_on_host(Call& call, int host_pid) {
  int status = 0;
  Call own = call;
  own.arguments[0] = static_cast<std::uint64_t>(host_pid);
  own.arguments[1] = reinterpret_cast<std::uint64_t>(&status);
  own.arguments[3] = 0;
  const SyscallOutcome outcome = block_on_host(own);
  if (outcome != SyscallOutcome::kReturn) return outcome;
  return call.finish(end_wait4(call, static_cast<long>(call.thread().state.gpr[kRax]), status));
}

}  // namespace

SyscallOutcome sys_wait4(Call& call) {
  const int pid = call.integer(0);
  if ((call[2] & ~(WNOHANG | WUNTRACED | WCONTINUED | kClones) & 0xffffffff) != 0)
    return call.finish(-EINVAL);
  const idtype_t type = pid == -1 ? P_ALL : pid > 0 ? P_PID : P_PGID;
  const int host_pid = call.process.ids.to_host(pid);
  const ChildWait wait{type,
                       type == P_PGID ? static_cast<int>(0u - static_cast<unsigned>(pid)) : pid,
                       call[2] | WEXITED,
                       [call, host_pid] { return try_wait4(call, host_pid); },
                       [call](const siginfo_t& change) { return store_wait4(call, change); },
                       [](long error) { return error; }};
  if (call.process.alone() && !awaits_companion(call, wait)) return wait4_on_host(call, host_pid);
  return wait_for_child(call, wait);
}

SyscallOutcome sys_waitid(Call& call) {
  const int type = call.integer(0), id = call.integer(1);
  const auto options = static_cast<std::uint32_t>(call[3]);
  if ((options & ~(WNOHANG | WNOWAIT | kChanges | kClones)) != 0 || (options & kChanges) == 0)
    return call.finish(fail_waitid(call, -EINVAL));
  if (type < P_ALL || type > P_PIDFD || (type == P_PID && id <= 0) || (type != P_ALL && id < 0))
    return call.finish(fail_waitid(call, -EINVAL));
  const long flags = type == P_PIDFD ? host_call(SYS_fcntl, static_cast<std::uint64_t>(id), F_GETFL) : 0;
  const int host_id = type == P_PID || type == P_PGID ? call.process.ids.to_host(id) : id;
  const ChildWait wait{static_cast<idtype_t>(type),
                       id,
                       options,
                       [call, host_id] { return try_waitid(call, host_id); },
                       [call](const siginfo_t& change) { return store_waitid(call, change); },
                       [call](long error) { return fail_waitid(call, error); },
                       flags >= 0 && (flags & O_NONBLOCK) != 0};
  return wait_for_child(call, wait);
}

void wake_companion_waits(Process& process) {
  process.visit_runners([&](KernelThread& thread) {
    const ActingThread acting(process, thread.thread);
    if (thread.wait && thread.wait->for_children && thread.wait->attempt())
      end_wait(process, thread, nullptr);
  });
}

}  // namespace elision::vm
