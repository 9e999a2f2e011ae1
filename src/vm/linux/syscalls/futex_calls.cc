// SPDX-License-Identifier: Apache-2.0
// Source: futex(2), set_robust_list(2), Linux Documentation/locking/robust-futex-ABI.
//
// Processes have no common queue for a word in MAP_SHARED memory. A waiter there checks its word every
// millisecond of host time and ends when the value has changed; wake-ups go to the host as well. Limits: a
// wake-up that leaves the value unchanged does not reach a waiter in another process; PI futexes work within
// one process only.
#include "vm/linux/syscalls/futex_calls.h"

#include <linux/futex.h>

#include <cerrno>
#include <climits>

#include "vm/host/guest_memory.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/signals/futexes.h"
#include "vm/linux/signals/waiting.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

namespace elision::vm {
namespace {

using Deadline = OrErrno<Nanoseconds>;

/// The deadline argument of a waiting operation; `relative` as in FUTEX_WAIT.
Deadline load_deadline(Call& call, std::uint64_t address, bool relative, int clock) {
  if (address == 0) return kNoDeadline;
  const auto time = load_timespec(address);
  if (!time) return time;
  return relative ? deadline_after(call.process, call.self, *time)
                  : deadline_at(call.process, call.self, clock, *time);
}

Wait queue_wait(Call& call, std::uint64_t address) {
  Wait wait;
  wait.cancel = [&process = call.process, &self = call.self] { process.futexes.remove(self); };
  if (between_processes(call.process, address)) wait.periodic = true;
  return wait;
}

SyscallOutcome wait_on(Call& call, std::uint64_t address, std::uint32_t expected, std::uint32_t bits,
                       const Deadline& deadline) {
  if (bits == 0 || address % 4 != 0) return call.finish(-EINVAL);
  if (!deadline) return call.finish(deadline.failure());
  const auto value = load_guest<std::uint32_t>(address);
  if (!value) return call.finish(-EFAULT);
  if (*value != expected) return call.finish(-EAGAIN);
  call.process.futexes.add(address, bits, call.self);
  Wait wait = queue_wait(call, address);
  if (*deadline != kNoDeadline) wait.on_signal = OnSignal::kInterrupt;
  if (wait.periodic) {
    wait.attempt = [&process = call.process, &self = call.self, address, expected] {
      if (load_guest<std::uint32_t>(address) == expected) return false;
      process.futexes.remove(self);
      self.thread.state.gpr[kRax] = 0;
      return true;
    };
  }
  return park(call, std::move(wait), *deadline, -ETIMEDOUT);
}

SyscallOutcome wake(Call& call, std::uint64_t address, unsigned count, std::uint32_t bits) {
  if (bits == 0 || address % 4 != 0) return call.finish(-EINVAL);
  return call.finish(wake_futex(call.process, &call.thread(), address, count, bits));
}

SyscallOutcome requeue(Call& call, std::uint64_t from, std::uint64_t to, unsigned wake_count,
                       unsigned move_count, std::optional<std::uint32_t> expected) {
  if (static_cast<int>(wake_count) < 0 || static_cast<int>(move_count) < 0) return call.finish(-EINVAL);
  if (expected) {
    const auto value = load_guest<std::uint32_t>(from);
    if (!value) return call.finish(-EFAULT);
    if (*value != *expected) return call.finish(-EAGAIN);
  }
  const unsigned woken = wake_futex(call.process, &call.thread(), from, wake_count, kAllBits);
  return call.finish(woken + call.process.futexes.move(from, to, move_count));
}

std::uint32_t apply_operation(std::uint32_t code, std::uint32_t old) {
  std::uint32_t operand = static_cast<std::uint32_t>(static_cast<std::int32_t>(code << 8) >> 20);
  if ((code >> 28 & FUTEX_OP_OPARG_SHIFT) != 0) operand = 1u << (operand & 31);
  switch (code >> 28 & 7) {
    case FUTEX_OP_SET:
      return operand;
    case FUTEX_OP_ADD:
      return old + operand;
    case FUTEX_OP_OR:
      return old | operand;
    case FUTEX_OP_ANDN:
      return old & ~operand;
    default:
      return old ^ operand;
  }
}

bool holds(std::uint32_t code, std::uint32_t old) {
  const auto operand = static_cast<std::int32_t>(code << 20) >> 20;
  const auto value = static_cast<std::int32_t>(old);
  switch (code >> 24 & 15) {
    case FUTEX_OP_CMP_EQ:
      return value == operand;
    case FUTEX_OP_CMP_NE:
      return value != operand;
    case FUTEX_OP_CMP_LT:
      return value < operand;
    case FUTEX_OP_CMP_LE:
      return value <= operand;
    case FUTEX_OP_CMP_GT:
      return value > operand;
    default:
      return value >= operand;
  }
}

SyscallOutcome wake_and_operate(Call& call, std::uint64_t first, std::uint64_t second, std::uint32_t code) {
  if ((code >> 28 & 7) > FUTEX_OP_XOR || (code >> 24 & 15) > FUTEX_OP_CMP_GE) return call.finish(-ENOSYS);
  auto old = load_guest<std::uint32_t>(second);
  for (;;) {
    if (!old) return call.finish(-EFAULT);
    const auto seen = compare_exchange_guest(second, *old, apply_operation(code, *old));
    if (seen == old) break;
    old = seen;
  }
  unsigned woken = wake_futex(call.process, &call.thread(), first, call.integer(2), kAllBits);
  if (holds(code, *old))
    woken += wake_futex(call.process, &call.thread(), second, static_cast<unsigned>(call[3]), kAllBits);
  return call.finish(woken);
}

SyscallOutcome lock_pi(Call& call, std::uint64_t address, bool may_wait, const Deadline& deadline) {
  if (!deadline) return call.finish(deadline.failure());
  const auto own_tid = static_cast<std::uint32_t>(call.thread().tid);
  auto value = load_guest<std::uint32_t>(address);
  for (;;) {
    if (!value) return call.finish(-EFAULT);
    const std::uint32_t owner = *value & FUTEX_TID_MASK;
    if (owner == own_tid) return call.finish(-EDEADLK);
    if (owner != 0 && !may_wait) return call.finish(-EAGAIN);
    const std::uint32_t desired = owner == 0 ? own_tid | (*value & FUTEX_OWNER_DIED) : *value | FUTEX_WAITERS;
    const auto seen = compare_exchange_guest(address, *value, desired);
    if (seen == value) {
      if (owner == 0) return call.finish(0);
      break;
    }
    value = seen;
  }
  call.process.futexes.add(address, kAllBits, call.self);
  Wait wait = queue_wait(call, address);
  wait.periodic = false;
  return park(call, std::move(wait), *deadline, -ETIMEDOUT);
}

SyscallOutcome unlock_pi(Call& call, std::uint64_t address) {
  const auto value = load_guest<std::uint32_t>(address);
  if (!value) return call.finish(-EFAULT);
  if ((*value & FUTEX_TID_MASK) != static_cast<std::uint32_t>(call.thread().tid)) return call.finish(-EPERM);
  pass_pi_lock(call.process, &call.thread(), address, 0);
  return call.finish(0);
}

}  // namespace

SyscallOutcome sys_futex(Call& call) {
  const int operation = call.integer(1);
  const int clock = (operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const std::uint64_t address = call[0], second = call[4];
  const auto value = static_cast<std::uint32_t>(call[2]), third = static_cast<std::uint32_t>(call[5]);
  const auto timeout = [&](bool relative, int id) { return load_deadline(call, call[3], relative, id); };
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
      return wait_on(call, address, value, kAllBits, timeout(true, clock));
    case FUTEX_WAIT_BITSET:
      return wait_on(call, address, value, third, timeout(false, clock));
    case FUTEX_WAKE:
      return wake(call, address, value, kAllBits);
    case FUTEX_WAKE_BITSET:
      return wake(call, address, value, third);
    case FUTEX_REQUEUE:
      return requeue(call, address, second, value, call.integer(3), std::nullopt);
    case FUTEX_CMP_REQUEUE:
      return requeue(call, address, second, value, call.integer(3), third);
    case FUTEX_WAKE_OP:
      return wake_and_operate(call, address, second, third);
    case FUTEX_LOCK_PI:
      return lock_pi(call, address, true, timeout(false, CLOCK_REALTIME));
    case FUTEX_LOCK_PI2:
      return lock_pi(call, address, true, timeout(false, clock));
    case FUTEX_TRYLOCK_PI:
      return lock_pi(call, address, false, kNoDeadline);
    case FUTEX_UNLOCK_PI:
      return unlock_pi(call, address);
    default:
      return call.finish(-ENOSYS);
  }
}

SyscallOutcome sys_set_robust_list(Call& call) {
  if (call[1] != sizeof(robust_list_head)) return call.finish(-EINVAL);
  call.self.robust_list = call[0];
  return call.finish(0);
}

SyscallOutcome sys_get_robust_list(Call& call) {
  const int tid = call.integer(0);
  for (const auto& thread : call.process.threads) {
    if (tid != 0 ? thread->thread.tid != tid : thread.get() != &call.self) continue;
    const bool stored = store_guest(call[1], thread->robust_list) &&
                        store_guest(call[2], std::uint64_t{sizeof(robust_list_head)});
    return call.finish(stored ? 0 : -EFAULT);
  }
  return call.finish(-ESRCH);
}

}  // namespace elision::vm
