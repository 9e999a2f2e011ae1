// SPDX-License-Identifier: Apache-2.0
// Source: signal(7), sigaction(2), Linux kernel/signal.c: which thread takes a signal, and when a signal is
// dropped.
#include "vm/linux/signals/signal_delivery.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/host/host_signals.h"
#include "vm/linux/events/process_events.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/signals/core_file.h"
#include "vm/linux/signals/futexes.h"
#include "vm/linux/signals/signal_descriptors.h"
#include "vm/linux/signals/signal_frame.h"
#include "vm/linux/signals/waiting.h"

namespace elision::vm {
namespace {

constexpr SignalSet kNeverBlocked{SignalSet::of(SIGKILL).bits | SignalSet::of(SIGSTOP).bits};
/// The host carries out stops by the terminal, so signals that the guest blocks must be blocked in the host
/// too.
constexpr SignalSet kStopSignals{SignalSet::of(SIGTSTP).bits | SignalSet::of(SIGTTIN).bits |
                                 SignalSet::of(SIGTTOU).bits};
constexpr std::uint64_t kSyscallBytes = 2;

const auto kDefault = reinterpret_cast<std::uint64_t>(SIG_DFL);
const auto kIgnore = reinterpret_cast<std::uint64_t>(SIG_IGN);

bool is_ignored(const SignalAction& action_of_signal, int signal) {
  const std::uint64_t handler = action_of_signal.handler;
  if (handler == kIgnore) return true;
  const DefaultAction action = default_action(signal);
  return handler == kDefault && (action == DefaultAction::kIgnore || action == DefaultAction::kContinue);
}

bool is_ignored(const Process& process, int signal) { return is_ignored(process.actions[signal], signal); }

/// Leaves stopping and killing to the host: they concern the whole process and its parent.
bool leave_to_host(Process& process, int signal) {
  const bool stops =
      process.actions[signal].handler == kDefault && default_action(signal) == DefaultAction::kStop;
  if (signal != SIGKILL && !stops) return false;
  if (signal == SIGKILL) die_by_signal(process, signal);
  host_call(SYS_kill, process.ids.host_pid(), signal);
  return true;
}

/// A thread that waits in rt_sigtimedwait for this signal takes it at once.
bool hand_to_waiter(Process& process, KernelThread& thread, const siginfo_t& info) {
  if (!thread.wait || !thread.waited_for.has(info.si_signo)) return false;
  thread.pending.add(info);
  if (!thread.wait->attempt()) return false;
  end_wait(process, thread, nullptr);
  return true;
}

void notify(Process& process, KernelThread& thread) {
  if (!has_deliverable(process, thread)) return;
  if (!thread.wait) {
    process.services.request_signal_delivery(thread.thread);
    return;
  }
  std::optional<OnSignal> interrupted = thread.wait->on_signal;
  if (const long transferred = thread.wait->transferred; transferred > 0) {
    thread.thread.state.gpr[kRax] = static_cast<std::uint64_t>(transferred);
    interrupted.reset();
  }
  publish_state(process, thread, kRunning);
  if (const auto result = abandon_wait(thread)) {
    thread.thread.state.gpr[kRax] = static_cast<std::uint64_t>(*result);
    interrupted.reset();
  }
  deliver_pending(process, thread, interrupted);
  ++process.wakeups;
  process.services.unpark(thread.thread, nullptr);
}

KernelThread* choose_thread(Process& process, int signal) {
  for (const auto& thread : process.threads)
    if (!thread->blocked.has(signal)) return thread.get();
  return nullptr;
}

void settle_interrupted_call(KernelThread& thread, bool restart) {
  GuestState& state = thread.thread.state;
  if (restart) {
    state.rip -= kSyscallBytes;
    state.gpr[kRax] = thread.call_number;
  } else {
    state.gpr[kRax] = static_cast<std::uint64_t>(-EINTR);
  }
}

[[noreturn]] void die_without_stack(Process& process, KernelThread& thread, siginfo_t info) {
  const std::string note = std::string("the handler of SIG") +
                           (sigabbrev_np(info.si_signo) ? sigabbrev_np(info.si_signo) : "RT") +
                           " cannot be entered: there is no stack for it";
  if (info.si_signo != SIGSEGV || info.si_code <= 0) {
    info.si_signo = SIGSEGV;
    info.si_code = SI_KERNEL;
  }
  die_of(process, thread, info, note.c_str());
}

/// Signals whose default action writes a core file (signal(7)).
bool dumps_core(int signal) {
  return is_synchronous(signal) || signal == SIGABRT || signal == SIGSYS || signal == SIGQUIT ||
         signal == SIGXCPU || signal == SIGXFSZ;
}

[[noreturn]] void end_like_native(const Process& process, const KernelThread& thread, const siginfo_t& info) {
  // A vfork child's memory is its parent's.
  if (!dumps_core(info.si_signo) || process.inside_vfork != nullptr) die_by_host_signal(info.si_signo);
  die_with_registers(info, thread.thread.state, process.auxiliary_vector);
}

/// Signals that the program raised itself and that end it with a core: abort() and the like.
bool is_own_crash(const Process& process, const siginfo_t& info) {
  const int signal = info.si_signo;
  return info.si_code == SI_TKILL && info.si_pid == process.ids.pid() &&
         (is_synchronous(signal) || signal == SIGABRT || signal == SIGSYS);
}

void call_handler(Process& process, KernelThread& thread, const siginfo_t& info) {
  SignalAction& action = process.action_of(thread, info.si_signo);
  const FrameRequest request{info, action, thread.saved_blocked.value_or(thread.blocked), thread.signal_stack,
                             thread.thread.trap};
  if (!enter_handler(thread.thread.state, request)) die_without_stack(process, thread, info);
  thread.saved_blocked.reset();
  if ((thread.signal_stack.flags & kAutodisarm) != 0) thread.signal_stack = {};
  SignalSet blocked{thread.blocked.bits | action.mask.bits};
  if ((action.flags & SA_NODEFER) == 0) blocked.add(info.si_signo);
  set_blocked(process, thread, blocked);
  if ((action.flags & SA_RESETHAND) != 0) {
    action.handler = kDefault;
    if (thread.companion == nullptr) mirror_action(process, info.si_signo);
  }
}

}  // namespace

DefaultAction default_action(int signal) {
  switch (signal) {
    case SIGCHLD:
    case SIGURG:
    case SIGWINCH:
      return DefaultAction::kIgnore;
    case SIGCONT:
      return DefaultAction::kContinue;
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      return DefaultAction::kStop;
    default:
      return DefaultAction::kTerminate;
  }
}

std::optional<siginfo_t> take_pending(Process& process, KernelThread& thread, SignalSet wanted) {
  auto info = thread.pending.take(wanted);
  if (!info && thread.companion == nullptr) info = process.pending.take(wanted);
  if (info && info->si_code == SI_TIMER) {
    const auto timer = process.posix_timers.find(info->si_timerid);
    if (timer != process.posix_timers.end())
      info->si_overrun = timer->second.last_overruns = std::exchange(timer->second.overruns, 0);
  }
  return info;
}

bool has_deliverable(const Process& process, const KernelThread& thread) {
  const std::uint64_t of_process = thread.companion == nullptr ? process.pending.set().bits : 0;
  return ((thread.pending.set().bits | of_process) & ~thread.blocked.bits) != 0;
}

void post_to_process(Process& process, const siginfo_t& info) {
  const int signal = info.si_signo;
  KernelThread* const target = choose_thread(process, signal);
  if ((target != nullptr || signal == SIGKILL || signal == SIGSTOP) && leave_to_host(process, signal)) return;
  for (const auto& thread : process.threads)
    if (hand_to_waiter(process, *thread, info)) return;
  note_signal(process, signal);
  if (target != nullptr && is_ignored(process, signal)) return;
  process.pending.add(info);
  if (target != nullptr) notify(process, *target);
}

void post_to_thread(Process& process, KernelThread& thread, const siginfo_t& info) {
  const int signal = info.si_signo;
  if (!thread.blocked.has(signal) && leave_to_host(process, signal)) return;
  if (hand_to_waiter(process, thread, info)) return;
  note_signal(process, signal);
  if (!thread.blocked.has(signal) && is_ignored(process, signal)) return;
  thread.pending.add(info);
  notify(process, thread);
}

/// Work at the end of a process by a signal: releases locks that other processes may wait for, publishes the
/// CPU time, writes the statistics.
static void leave_behind(Process& process, int signal) {
  release_shared_futexes(process);
  publish_cpu_time(process);
  if (process.inside_vfork == nullptr && process.events != nullptr) process.events->process_ends();
  if (process.inside_vfork == nullptr) process.services.write_statistics(128 + signal);
}

bool deliver_pending(Process& process, KernelThread& thread, std::optional<OnSignal> interrupted) {
  bool entered = false;
  while (const auto info = take_pending(process, thread, {~thread.blocked.bits})) {
    const int signal = info->si_signo;
    const SignalAction& action = process.action_of(thread, signal);
    if (is_ignored(action, signal)) continue;
    if (action.handler == kDefault) {
      if (leave_to_host(process, signal)) continue;
      if (is_own_crash(process, *info)) die_of(process, thread, *info);
      leave_behind(process, signal);
      end_like_native(process, thread, *info);
    }
    if (interrupted) {
      const bool restarts = (action.flags & SA_RESTART) != 0;
      settle_interrupted_call(thread, *interrupted == OnSignal::kRestart && restarts);
      interrupted.reset();
    }
    call_handler(process, thread, *info);
    entered = true;
  }
  if (interrupted) settle_interrupted_call(thread, true);
  if (thread.saved_blocked && !interrupted)
    set_blocked(process, thread, *std::exchange(thread.saved_blocked, {}));
  return entered;
}

void take_in_host_signals(Process& process, KernelThread* caller) {
  while (auto info = take_host_signal()) {
    const int signal = info->si_signo;
    if (signal == SIGCHLD) {
      process.child_event = true;
      // In clock ticks. The host's values count the engine's time.
      info->si_utime = static_cast<clock_t>(process.cpu_time_board.look(info->si_pid, false) / 10'000'000);
      info->si_stime = 0;
    }
    if (info->si_code <= 0 || signal == SIGCHLD) info->si_pid = process.ids.to_guest(info->si_pid);
    if (signal == SIGPIPE && caller != nullptr) {
      post_to_thread(process, *caller, *info);
    } else {
      post_to_process(process, *info);
    }
  }
}

void mirror_action(Process& process, int signal) {
  const SignalAction& action = process.actions[signal];
  const int flags = signal == SIGCHLD ? static_cast<int>(action.flags) & (SA_NOCLDSTOP | SA_NOCLDWAIT) : 0;
  if (action.handler == kIgnore) return set_host_action(signal, HostAction::kIgnore);
  const bool host_default =
      action.handler == kDefault && signal != SIGCHLD && default_action(signal) != DefaultAction::kTerminate;
  // SA_NOCLDSTOP too: an unwanted stop's signal could replace that of an exit right after it.
  set_host_action(signal, host_default ? HostAction::kDefault : HostAction::kRecord, flags);
}

void set_blocked(Process& process, KernelThread& thread, SignalSet blocked) {
  blocked.bits &= ~kNeverBlocked.bits;
  const std::uint64_t changed = (blocked.bits ^ thread.blocked.bits) & kStopSignals.bits;
  thread.blocked = blocked;
  // A vfork child keeps everything blocked in the host until it execs.
  if (changed != 0 && process.inside_vfork == nullptr && thread.companion == nullptr)
    set_host_mask({blocked.bits & kStopSignals.bits});
}

void die_by_signal(Process& process, int signal) {
  leave_behind(process, signal);
  die_by_host_signal(signal);
}

void die_of(Process& process, KernelThread& thread, const siginfo_t& info, const char* note) {
  leave_behind(process, info.si_signo);
  process.services.report_crash(thread.thread, info, note);
  end_like_native(process, thread, info);
}

void force_signal(Process& process, KernelThread& thread, const siginfo_t& info) {
  const int signal = info.si_signo;
  const std::uint64_t handler = process.action_of(thread, signal).handler;
  if (handler == kDefault || handler == kIgnore || thread.blocked.has(signal)) die_of(process, thread, info);
  call_handler(process, thread, info);
}

}  // namespace elision::vm
