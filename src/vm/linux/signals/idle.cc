// SPDX-License-Identifier: Apache-2.0
// A process on its own does not wait for a timer: virtual time jumps. If an outside event is possible (a
// descriptor, a child, a signal of another process), a timer's span is waited for in host time, the only time
// that both sides share.
#include "vm/linux/signals/idle.h"

#include <algorithm>
#include <ctime>

#include "vm/host/host_signals.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/signals/waiting.h"

namespace elision::vm {
namespace {

std::int64_t host_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

bool waits_for_outside(const Process& process) {
  return process.any_runner([](const KernelThread& thread) {
    return thread.wait &&
           (!thread.wait->descriptors.empty() || thread.wait->for_children || thread.wait->periodic);
  });
}

/// True if a signal from outside could let a thread go on: a thread waits in pause, sigsuspend or
/// sigtimedwait, or a handler is installed that another process may trigger.
bool waits_for_signals(const Process& process) {
  const bool waits = process.any_runner([](const KernelThread& thread) {
    return thread.wait && (thread.waited_for.bits != 0 || thread.saved_blocked || thread.futex_address == 0);
  });
  const auto handled = [&](int signal) {
    return process.actions[signal].handler > 1 && signal < 32 && !is_synchronous(signal);
  };
  for (int signal = 1; signal < 32 && !waits; ++signal)
    if (handled(signal)) return true;
  return waits;
}

}  // namespace

bool wait_while_idle(Process& process, std::optional<Nanoseconds> timer) {
  const std::uint64_t wakeups = process.wakeups;
  take_in_host_signals(process, nullptr);
  poll_waits(process, false, 0);
  if (process.wakeups != wakeups) return true;
  const bool others = process.has_had_children || !process.ids.is_root();
  const bool outside = waits_for_outside(process) || others;
  if (timer && !outside) return true;
  if (!timer && !outside && !waits_for_signals(process)) return false;

  std::int64_t end = -1;
  if (timer) {
    const Nanoseconds now = process.services.now(process.threads.front()->thread);
    end = host_nanoseconds() + static_cast<std::int64_t>(*timer > now ? *timer - now : 0);
  }
  while (process.wakeups == wakeups) {
    const std::int64_t left = end < 0 ? -1 : std::max<std::int64_t>(0, end - host_nanoseconds());
    if (left == 0) break;
    poll_waits(process, true, left);
    take_in_host_signals(process, nullptr);
  }
  return true;
}

}  // namespace elision::vm
