// SPDX-License-Identifier: Apache-2.0
#include "vm/kernel/companions.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "vm/kernel/credentials.h"
#include "vm/kernel/futex_calls.h"
#include "vm/kernel/guest_call.h"
#include "vm/kernel/guest_memory.h"
#include "vm/kernel/id_calls.h"
#include "vm/kernel/process_calls.h"
#include "vm/kernel/signal_delivery.h"
#include "vm/kernel/system_calls.h"
#include "vm/kernel/thread_calls.h"
#include "vm/kernel/trace_calls.h"
#include "vm/kernel/waiting.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kSharedFlags = CLONE_VM | CLONE_FILES | CLONE_FS;

int exited(int code) { return (code & 0xff) << 8; }
int stopped_by(int signal) { return signal << 8 | 0x7f; }

SyscallOutcome not_for_companions(Call& call) { return call.finish(-ENOSYS); }

SyscallOutcome companion_getpid(Call& call) { return call.finish(call.thread().tid); }
SyscallOutcome companion_getppid(Call& call) { return call.finish(call.self.companion->parent); }

/// What concerns the host's process would concern the companion's parent.
SyscallOutcome companion_prctl(Call& call) {
  if (call.integer(0) == PR_SET_PDEATHSIG) return call.finish(0);  // it goes with its parent in any case
  return sys_prctl(call);
}

void send_exit_signal(Process& process, const KernelThread& self, int code) {
  siginfo_t info{};
  info.si_signo = self.companion->exit_signal;
  if (info.si_signo == 0) return;
  info.si_code = CLD_EXITED;
  info.si_pid = process_number(process, self);
  info.si_uid = static_cast<uid_t>(call_as(self, SYS_getuid));
  info.si_status = code & 0xff;
  post_to_process(process, info);
}

SyscallOutcome companion_exit(Call& call) {
  Process& process = call.process;
  release_futexes_of(process, call.self);
  release_traced(process, call.self);
  process.ended_companions.push_back({process_number(process, call.self), call.self.companion->parent,
                                      exited(call.integer(0)), call.self.companion->exit_signal == SIGCHLD});
  send_exit_signal(process, call.self, call.integer(0));
  Thread& thread = call.thread();
  thread.kernel = nullptr;
  std::erase_if(process.companions, [&](const auto& each) { return each.get() == &call.self; });
  process.services.end_thread(thread);
  wake_companion_waits(process);
  return SyscallOutcome::kExited;
}

bool matches(int wanted, int pid) { return wanted == -1 || wanted == pid; }

/// wait(2): a child that sends no SIGCHLD is only waited for by those who say so.
bool is_eligible(bool sends_sigchld, std::uint64_t options) {
  return (options & __WALL) != 0 || ((options & __WCLONE) != 0) != sends_sigchld;
}

struct Event {
  int pid, status;
};

/// What wait4 for `pid` finds right now, which is then told.
std::optional<Event> take_event(Call& call, int pid, std::uint64_t options) {
  Process& process = call.process;
  for (const auto& thread : process.threads) {
    Tracing& tracing = thread->tracing;
    if (tracing.tracer != call.thread().tid || tracing.stop != TraceStop::kStopped) continue;
    if (!matches(pid, thread->thread.tid)) continue;
    tracing.stop = TraceStop::kTold;
    return Event{thread->thread.tid, stopped_by(SIGSTOP)};
  }
  auto& ended = process.ended_companions;
  const int self = process_number(process, call.self);
  const auto found = std::find_if(ended.begin(), ended.end(), [&](const EndedCompanion& each) {
    return each.parent == self && matches(pid, each.pid) && is_eligible(each.sends_sigchld, options);
  });
  if (found == ended.end()) return std::nullopt;
  const Event event{found->pid, found->status};
  ended.erase(found);
  return event;
}

long tell(const Call& call, const Event& event) {
  if (call[1] != 0 && !store_guest(call[1], event.status)) return -EFAULT;
  if (call[3] != 0 && !store_guest(call[3], rusage{})) return -EFAULT;
  return event.pid;
}

/// The result of wait4 if it can end now. The host's children are the process's: a companion has none.
std::optional<long> try_wait(Call& call) {
  const int pid = call.integer(0);
  if (const auto event = take_event(call, pid, call[2])) return tell(call, *event);
  bool has_children = awaits_companion(call, pid);
  if (pid == -1 && call.self.companion == nullptr) {
    const std::optional<long> host = try_wait4(call);
    if (host && *host != 0 && *host != -ECHILD) return host;
    has_children = has_children || host != -ECHILD;
  }
  if (!has_children) return -ECHILD;
  return (call[2] & WNOHANG) != 0 ? std::optional(0l) : std::nullopt;
}

}  // namespace

SyscallOutcome clone_companion(Call& call) {
  const std::uint64_t flags = call[0];
  if ((flags & kSharedFlags) != kSharedFlags || (flags & CLONE_SIGHAND) != 0) return call.finish(-ENOSYS);
  const long pid = add_thread(call, call.process.companions);
  if (pid < 0) return call.finish(pid);
  auto companion = std::make_unique<Companion>();
  companion->parent = call.process.ids.pid();
  companion->exit_signal = static_cast<int>(flags & CSIGNAL);
  std::copy(std::begin(call.process.actions), std::end(call.process.actions), companion->actions);
  call.process.companions.back()->companion = std::move(companion);
  return call.finish(pid);
}

CallHandler find_companion_handler(std::uint64_t number) {
  switch (number) {
    case SYS_getpid:
      return companion_getpid;
    case SYS_getppid:
      return companion_getppid;
    case SYS_prctl:
      return companion_prctl;
    case SYS_exit:
    case SYS_exit_group:
      return companion_exit;
    case SYS_ptrace:
      return sys_ptrace;
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
    case SYS_execve:
    case SYS_execveat:
      return not_for_companions;
    default:
      const SystemCall* const row = find_system_call(number);
      return row != nullptr ? row->handler : nullptr;
  }
}

KernelThread* find_companion(Process& process, int pid) {
  for (const auto& companion : process.companions)
    if (companion->thread.tid == pid) return companion.get();
  return nullptr;
}

int process_number(const Process& process, const KernelThread& thread) {
  return thread.companion != nullptr ? thread.thread.tid : process.ids.pid();
}

bool awaits_companion(const Call& call, int pid) {
  const Process& process = call.process;
  const int self = process_number(process, call.self);
  const auto traced = [&](const auto& thread) {
    return thread->tracing.tracer == call.thread().tid && matches(pid, thread->thread.tid);
  };
  const auto lives = [&](const auto& each) {
    return each->companion->parent == self && matches(pid, each->thread.tid) &&
           is_eligible(each->companion->exit_signal == SIGCHLD, call[2]);
  };
  const auto ended = [&](const EndedCompanion& each) {
    return each.parent == self && matches(pid, each.pid) && is_eligible(each.sends_sigchld, call[2]);
  };
  return std::any_of(process.threads.begin(), process.threads.end(), traced) ||
         std::any_of(process.companions.begin(), process.companions.end(), lives) ||
         std::any_of(process.ended_companions.begin(), process.ended_companions.end(), ended);
}

SyscallOutcome wait_for_companion(Call& call) {
  if (const auto result = try_wait(call)) return call.finish(*result);
  Wait wait;
  wait.for_children = true;
  wait.attempt = [call]() mutable {
    const auto result = try_wait(call);
    if (result) call.finish(*result);
    return result.has_value();
  };
  return park(call, std::move(wait));
}

void wake_companion_waits(Process& process) {
  process.visit_runners([&](KernelThread& thread) {
    const ActingThread acting(process, thread.thread);
    if (thread.wait && thread.wait->for_children && thread.wait->attempt())
      end_wait(process, thread, nullptr);
  });
}

void tell_tracer_of_end(Process& process, KernelThread& thread, int code) {
  if (thread.tracing.tracer == 0) return;
  process.ended_companions.push_back({thread.thread.tid, thread.tracing.tracer, exited(code), true});
  thread.tracing = {};
}

}  // namespace elision::vm
