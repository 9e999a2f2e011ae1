// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/signal_calls.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/signals/signal_frame.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/companions.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/thread_calls.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kMinStackBytes = 2048;  // MINSIGSTKSZ

bool is_signal(int signal) { return signal >= 1 && signal <= kSignalCount; }

siginfo_t sent_by_self(const Process& process, int signal, int code) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = code;
  info.si_pid = process.ids.pid();
  info.si_uid = getuid();
  return info;
}

/// Kernel::system_call delivers a signal that a thread raises for itself before its call returns. So it is
/// enough to send it here.
SyscallOutcome send_to_thread(Call& call, int tid, const siginfo_t& info) {
  KernelThread* const target = find_thread(call.process, tid);
  if (target == nullptr) return call.finish(-ESRCH);
  call.finish(0);
  if (info.si_signo != 0) post_to_thread(call.process, *target, info);
  return SyscallOutcome::kReturn;
}

SyscallOutcome send_to_self(Call& call, const siginfo_t& info) {
  call.finish(0);
  if (info.si_signo != 0) post_to_process(call.process, info);
  return SyscallOutcome::kReturn;
}

bool is_own_thread_group(const Call& call, int tgid) { return tgid == call.process.ids.pid(); }

}  // namespace

SyscallOutcome sys_rt_sigaction(Call& call) {
  const int signal = call.integer(0);
  if (call[3] != sizeof(SignalSet) || !is_signal(signal)) return call.finish(-EINVAL);
  SignalAction& current = call.process.action_of(call.self, signal);
  std::optional<SignalAction> next;
  if (call[1] != 0) {
    next = load_guest<SignalAction>(call[1]);
    if (!next) return call.finish(-EFAULT);
    if (signal == SIGKILL || signal == SIGSTOP) return call.finish(-EINVAL);
  }
  if (call[2] != 0 && !store_guest(call[2], current)) return call.finish(-EFAULT);
  if (!next) return call.finish(0);
  current = *next;
  if (call.self.companion != nullptr) return call.finish(0);
  const bool ignored = current.handler == reinterpret_cast<std::uint64_t>(SIG_IGN) ||
                       (current.handler == 0 && default_action(signal) == DefaultAction::kIgnore);
  if (ignored) {
    call.process.pending.discard(signal);
    for (const auto& thread : call.process.threads) thread->pending.discard(signal);
  }
  mirror_action(call.process, signal);
  return call.finish(0);
}

SyscallOutcome sys_rt_sigprocmask(Call& call) {
  if (call[3] != sizeof(SignalSet)) return call.finish(-EINVAL);
  const SignalSet old = call.self.blocked;
  if (call[1] != 0) {
    const auto set = load_guest<SignalSet>(call[1]);
    if (!set) return call.finish(-EFAULT);
    SignalSet next = *set;
    switch (call.integer(0)) {
      case SIG_BLOCK:
        next.bits |= old.bits;
        break;
      case SIG_UNBLOCK:
        next.bits = old.bits & ~set->bits;
        break;
      case SIG_SETMASK:
        break;
      default:
        return call.finish(-EINVAL);
    }
    set_blocked(call.process, call.self, next);
  }
  if (call[2] != 0 && !store_guest(call[2], old)) return call.finish(-EFAULT);
  return call.finish(0);
}

SyscallOutcome sys_rt_sigpending(Call& call) {
  if (call[1] > sizeof(SignalSet)) return call.finish(-EINVAL);
  const SignalSet set{(call.self.pending.set().bits | call.process.pending.set().bits) &
                      call.self.blocked.bits};
  return call.finish(copy_to_guest(call[0], &set, call[1]) ? 0 : -EFAULT);
}

long replace_mask_for_call(Call& call, std::uint64_t address, std::uint64_t size) {
  if (address == 0) return 0;
  if (size != sizeof(SignalSet)) return -EINVAL;
  const auto set = load_guest<SignalSet>(address);
  if (!set) return -EFAULT;
  // A restarted call has saved its original mask already.
  if (!call.self.saved_blocked) call.self.saved_blocked = call.self.blocked;
  set_blocked(call.process, call.self, *set);
  return 0;
}

SyscallOutcome sys_rt_sigsuspend(Call& call) {
  if (call[0] == 0) return call.finish(-EFAULT);
  if (const long error = replace_mask_for_call(call, call[0], call[1]); error != 0) return call.finish(error);
  return sys_pause(call);
}

SyscallOutcome sys_pause(Call& call) {
  Wait wait;
  return park(call, std::move(wait));
}

SyscallOutcome sys_rt_sigtimedwait(Call& call) {
  if (call[3] != sizeof(SignalSet)) return call.finish(-EINVAL);
  const auto set = load_guest<SignalSet>(call[0]);
  if (!set) return call.finish(-EFAULT);
  Nanoseconds deadline = kNoDeadline;
  if (call[2] != 0) {
    const auto time = load_timespec(call[2]);
    if (!time) return call.finish(time.failure());
    deadline = deadline_after(call.process, call.self, *time);
  }
  const auto attempt = [&process = call.process, &self = call.self, wanted = *set, to = call[1]] {
    const auto info = take_pending(process, self, wanted);
    if (!info) return false;
    const bool stored = to == 0 || store_guest(to, *info);
    self.thread.state.gpr[kRax] = static_cast<std::uint64_t>(stored ? long{info->si_signo} : -EFAULT);
    self.waited_for = {};
    return true;
  };
  if (attempt()) return SyscallOutcome::kReturn;
  call.self.waited_for = *set;
  Wait wait;
  wait.attempt = attempt;
  wait.cancel = [&self = call.self] { self.waited_for = {}; };
  return park(call, std::move(wait), deadline, -EAGAIN);
}

SyscallOutcome sys_rt_sigreturn(Call& call) {
  SignalSet mask;
  SignalStack stack;
  if (!leave_handler(call.thread().state, mask, stack)) {
    siginfo_t info{};
    info.si_signo = SIGSEGV;
    info.si_code = SI_KERNEL;
    die_of(call.process, call.self, info, "the stack holds no signal frame to return from");
  }
  set_blocked(call.process, call.self, mask);
  call.self.signal_stack = stack;
  return SyscallOutcome::kSigreturn;
}

SyscallOutcome sys_sigaltstack(Call& call) {
  SignalStack& current = call.self.signal_stack;
  const bool active = is_in_use(current, call.thread().state.gpr[kRsp]);
  SignalStack shown = current;
  if (active) shown.flags |= SS_ONSTACK;
  if (call[0] != 0) {
    const auto next = load_guest<SignalStack>(call[0]);
    if (!next) return call.finish(-EFAULT);
    if (active) return call.finish(-EPERM);
    const int mode = next->flags & ~kAutodisarm;
    if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK) return call.finish(-EINVAL);
    if ((next->flags & SS_DISABLE) == 0 && next->size < kMinStackBytes) return call.finish(-ENOMEM);
    current = *next;
    current.flags &= SS_DISABLE | kAutodisarm;
    if ((current.flags & SS_DISABLE) != 0) current.address = current.size = 0;
  }
  if (call[1] != 0 && !store_guest(call[1], shown)) return call.finish(-EFAULT);
  return call.finish(0);
}

SyscallOutcome sys_kill(Call& call) {
  const int pid = call.integer(0), signal = call.integer(1);
  if (signal != 0 && !is_signal(signal)) return call.finish(-EINVAL);
  if (is_own_thread_group(call, pid)) return send_to_self(call, sent_by_self(call.process, signal, SI_USER));
  if (KernelThread* const companion = find_companion(call.process, pid)) {
    call.finish(0);
    if (signal != 0) post_to_thread(call.process, *companion, sent_by_self(call.process, signal, SI_USER));
    return SyscallOutcome::kReturn;
  }
  return call.finish(
      call_as(call.self, SYS_kill, static_cast<std::uint64_t>(call.process.ids.to_host(pid)), signal));
}

SyscallOutcome sys_tkill(Call& call) {
  const int signal = call.integer(1);
  if (signal != 0 && !is_signal(signal)) return call.finish(-EINVAL);
  return send_to_thread(call, call.integer(0), sent_by_self(call.process, signal, SI_TKILL));
}

SyscallOutcome sys_tgkill(Call& call) {
  const int tgid = call.integer(0), tid = call.integer(1), signal = call.integer(2);
  if (tgid <= 0 || tid <= 0 || (signal != 0 && !is_signal(signal))) return call.finish(-EINVAL);
  if (is_own_thread_group(call, tgid))
    return send_to_thread(call, tid, sent_by_self(call.process, signal, SI_TKILL));
  const ProcessIds& ids = call.process.ids;
  return call.finish(call_as(call.self, SYS_tgkill, ids.to_host(tgid), ids.to_host(tid), signal));
}

SyscallOutcome sys_rt_sigqueueinfo(Call& call) {
  const int pid = call.integer(0), signal = call.integer(1);
  auto info = load_guest<siginfo_t>(call[2]);
  if (!info) return call.finish(-EFAULT);
  info->si_signo = signal;
  if (!is_own_thread_group(call, pid))
    return call.finish(call_as(call.self, SYS_rt_sigqueueinfo, call.process.ids.to_host(pid), signal,
                               reinterpret_cast<std::uint64_t>(&*info)));
  if (signal != 0 && !is_signal(signal)) return call.finish(-EINVAL);
  return send_to_self(call, *info);
}

SyscallOutcome sys_rt_tgsigqueueinfo(Call& call) {
  const int signal = call.integer(2);
  auto info = load_guest<siginfo_t>(call[3]);
  if (!info) return call.finish(-EFAULT);
  if (!is_own_thread_group(call, call.integer(0))) return call.finish(-ESRCH);
  if (signal != 0 && !is_signal(signal)) return call.finish(-EINVAL);
  info->si_signo = signal;
  return send_to_thread(call, call.integer(1), *info);
}

}  // namespace elision::vm
