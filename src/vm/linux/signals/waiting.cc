// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/signals/waiting.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "vm/host/failure.h"
#include "vm/host/host_call.h"
#include "vm/linux/process/guest_door.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/signals/signal_descriptors.h"

namespace elision::vm {
namespace {

/// Period at which waits without an event of their own are tried.
constexpr std::int64_t kPeriodNs = 1'000'000;

std::optional<long> leave_queues(KernelThread& thread) {
  Wait wait = std::move(*thread.wait);
  thread.wait.reset();
  if (wait.cancel) wait.cancel();
  return wait.interrupt ? wait.interrupt() : std::nullopt;
}

/// All descriptors that threads wait for, with those threads.
struct Watched {
  std::vector<pollfd> descriptors;
  std::vector<KernelThread*> owners;
  bool periodic = false;
};

/// False for threads of a vfork child's parent: they are in the shared memory but wait in the parent.
bool waits_here(const Process& process, const KernelThread& thread) {
  return thread.wait && (process.inside_vfork == nullptr || process.inside_vfork == &thread);
}

Watched watched_descriptors(Process& process) {
  Watched result;
  process.visit_runners([&](KernelThread& thread) {
    if (!waits_here(process, thread)) return;
    result.periodic |= thread.wait->periodic;
    for (const pollfd& descriptor : thread.wait->descriptors) {
      result.descriptors.push_back(descriptor);
      result.descriptors.back().revents = 0;
      result.owners.push_back(&thread);
    }
  });
  return result;
}

void host_poll(Process& process, Watched& watched, bool block, std::int64_t timeout_ns) {
  if (block && watched.periodic && (timeout_ns < 0 || timeout_ns > kPeriodNs)) timeout_ns = kPeriodNs;
  if (!block) timeout_ns = 0;
  if (!block && watched.descriptors.empty()) return;
  refresh_signal_descriptors(process, nullptr);
  timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  const std::uint64_t arguments[6] = {reinterpret_cast<std::uint64_t>(watched.descriptors.data()),
                                      watched.descriptors.size(),
                                      timeout_ns < 0 ? 0 : reinterpret_cast<std::uint64_t>(&timeout),
                                      0,
                                      8,
                                      0};
  if (host_call_interruptible(SYS_ppoll, arguments) < 0)
    for (pollfd& descriptor : watched.descriptors) descriptor.revents = 0;
}

/// Ends a call before it waits: a signal is pending already, or the call's own mask unblocked one.
SyscallOutcome end_by_signal(Call& call) {
  std::optional<OnSignal> interrupted = call.self.wait->on_signal;
  std::optional<long> result;
  if (call.self.wait->transferred > 0) result = call.self.wait->transferred;
  if (call.self.wait->give_up) call.self.wait->give_up();
  if (const auto ended = leave_queues(call.self)) result = ended;
  if (result) {
    call.finish(*result);
    interrupted.reset();
  }
  deliver_pending(call.process, call.self, interrupted);
  return SyscallOutcome::kSigreturn;
}

/// Restores the mask that the call replaced, after a wait that no signal ended.
void restore_mask(Process& process, KernelThread& thread) {
  if (!thread.saved_blocked) return;
  set_blocked(process, thread, *std::exchange(thread.saved_blocked, std::nullopt));
  if (has_deliverable(process, thread)) process.services.request_signal_delivery(thread.thread);
}

void check_may_block(const Call& call) {
  check(call.states(Effects::kBlocks), "a system call waits, but its row does not state kBlocks",
        call.number);
}

OnSignal on_signal(const Call& call) {
  return call.states(Effects::kNeverRestarts) ? OnSignal::kInterrupt : OnSignal::kRestart;
}

}  // namespace

SyscallOutcome park(Call& call, Wait wait, Nanoseconds deadline, long timeout_result) {
  KernelThread& self = call.self;
  Process& process = call.process;
  check_may_block(call);
  self.wait = std::move(wait);
  if (!self.wait->on_signal) self.wait->on_signal = on_signal(call);
  if (has_deliverable(process, self)) return end_by_signal(call);
  self.waits_since = process.services.now(self.thread);
  publish_state(process, self, kSleeping);
  process.services.park(self.thread, deadline, [&process, &self, timeout_result] {
    if (!self.wait) return;
    publish_state(process, self, kRunning);
    if (self.wait->expire) self.wait->expire();
    const long result = leave_queues(self).value_or(timeout_result);
    self.thread.state.gpr[kRax] = static_cast<std::uint64_t>(result);
    restore_mask(process, self);
  });
  return SyscallOutcome::kParked;
}

void end_wait(Process& process, KernelThread& thread, const Thread* waker) {
  thread.wait.reset();
  publish_state(process, thread, kRunning);
  restore_mask(process, thread);
  ++process.wakeups;
  process.services.unpark(thread.thread, waker);
}

std::optional<long> abandon_wait(KernelThread& thread) {
  if (thread.wait->give_up) thread.wait->give_up();
  return leave_queues(thread);
}

SyscallOutcome wait_on_helper(Call& call, HelperCall helper_call, Nanoseconds deadline, long timeout_result,
                              SettleHelper settle) {
  const std::shared_ptr<HostHelper> helper =
      HostHelper::start(call.self.credentials.get(), std::move(helper_call));
  if (helper == nullptr) return call.finish(-ENOMEM);
  const auto settled = [helper, settle = std::move(settle)](long result) {
    return settle ? settle(helper->buffer(), result) : result;
  };
  Wait wait;
  wait.descriptors = {{helper->descriptor(), POLLIN, 0}};
  wait.attempt = [&self = call.self, helper, settled] {
    const auto result = helper->result();
    if (result) self.thread.state.gpr[kRax] = static_cast<std::uint64_t>(settled(*result));
    return result.has_value();
  };
  wait.interrupt = [helper, settled]() -> std::optional<long> {
    const long result = helper->cancel();
    return result != -EINTR ? std::optional(settled(result)) : std::nullopt;
  };
  return park(call, std::move(wait), deadline, timeout_result);
}

SyscallOutcome block_on_host(Call& call) {
  check_may_block(call);
  for (;;) {
    const long result = host_call_interruptible(static_cast<long>(call.number), call.arguments);
    if (result != -EINTR) return call.finish(result);
    take_in_host_signals(call.process, &call.self);
    if (!has_deliverable(call.process, call.self)) continue;
    deliver_pending(call.process, call.self, on_signal(call));
    return SyscallOutcome::kSigreturn;
  }
}

bool any_descriptor_waits(const Process& process) {
  return process.any_runner([&](const KernelThread& thread) {
    return waits_here(process, thread) && !thread.wait->descriptors.empty();
  });
}

bool poll_waits(Process& process, bool block, std::int64_t timeout_ns, const Thread* waker) {
  Watched watched = watched_descriptors(process);
  // A child's exit that was recorded earlier interrupts no host call any more: do not block.
  host_poll(process, watched, block && !process.child_event, timeout_ns);
  const bool children = std::exchange(process.child_event, false);
  std::vector<KernelThread*> candidates;
  process.visit_runners([&](KernelThread& thread) {
    if (waits_here(process, thread) && (thread.wait->periodic || (children && thread.wait->for_children)))
      candidates.push_back(&thread);
  });
  for (std::size_t i = 0; i < watched.descriptors.size(); ++i)
    if (watched.descriptors[i].revents != 0) candidates.push_back(watched.owners[i]);
  bool progress = false;
  for (KernelThread* thread : candidates) {
    const ActingThread acting(process, thread->thread);
    if (!thread->wait || !thread->wait->attempt || !thread->wait->attempt()) continue;
    end_wait(process, *thread, waker);
    progress = true;
  }
  return progress;
}

}  // namespace elision::vm
