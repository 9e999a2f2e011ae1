// SPDX-License-Identifier: Apache-2.0
// Source: futex(2), Linux Documentation/locking/robust-futex-ABI.
#include "vm/linux/signals/futexes.h"

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/signals/waiting.h"

namespace elision::vm {
namespace {

constexpr unsigned kMaxRobustEntries = 2048;  // ROBUST_LIST_LIMIT

/// Linux's handle_futex_death: marks the word of a lock whose owner ended.
void abandon_lock(Process& process, KernelThread& thread, std::uint64_t address, bool pi) {
  const auto value = load_guest<std::uint32_t>(address);
  if (!value || (*value & FUTEX_TID_MASK) != static_cast<std::uint32_t>(thread.thread.tid)) return;
  if (pi) return pass_pi_lock(process, &thread.thread, address, FUTEX_OWNER_DIED);
  if (!store_guest(address, (*value & FUTEX_WAITERS) | FUTEX_OWNER_DIED)) return;
  if ((*value & FUTEX_WAITERS) != 0) wake_futex(process, &thread.thread, address, 1, kAllBits);
}

/// The low bit of a list pointer marks a PI lock.
void walk_robust_list(Process& process, KernelThread& thread) {
  const auto head = load_guest<robust_list_head>(thread.robust_list);
  if (!head) return;
  const auto futex_of = [&](std::uint64_t entry) { return (entry & ~1ull) + head->futex_offset; };
  const auto pending = reinterpret_cast<std::uint64_t>(head->list_op_pending);
  auto entry = reinterpret_cast<std::uint64_t>(head->list.next);
  for (unsigned i = 0; i < kMaxRobustEntries && (entry & ~1ull) != thread.robust_list; ++i) {
    const auto next = load_guest<std::uint64_t>(entry & ~1ull);
    if (entry != pending) abandon_lock(process, thread, futex_of(entry), (entry & 1) != 0);
    if (!next) break;
    entry = *next;
  }
  if ((pending & ~1ull) != 0) abandon_lock(process, thread, futex_of(pending), (pending & 1) != 0);
}

}  // namespace

bool between_processes(const Process& process, std::uint64_t address) {
  return (process.has_had_children || !process.ids.is_root()) && process.memory.is_shared(address);
}

unsigned wake_futex(Process& process, const Thread* waker, std::uint64_t address, unsigned count,
                    std::uint32_t bits) {
  const auto woken = process.futexes.take(address, count, bits);
  for (KernelThread* waiter : woken) {
    waiter->thread.state.gpr[kRax] = 0;
    end_wait(process, *waiter, waker);
  }
  if (woken.size() < count && between_processes(process, address))
    host_call(SYS_futex, address, FUTEX_WAKE, count - woken.size());
  return static_cast<unsigned>(woken.size());
}

void pass_pi_lock(Process& process, const Thread* waker, std::uint64_t address, std::uint32_t extra_bits) {
  const auto waiters = process.futexes.take(address, 1, kAllBits);
  std::uint32_t value = extra_bits;
  if (!waiters.empty()) {
    value |= static_cast<std::uint32_t>(waiters.front()->thread.tid);
    if (process.futexes.has_waiters(address)) value |= FUTEX_WAITERS;
  }
  (void)store_guest(address, value);
  for (KernelThread* waiter : waiters) {
    waiter->thread.state.gpr[kRax] = 0;
    end_wait(process, *waiter, waker);
  }
}

void release_futexes_of(Process& process, KernelThread& thread) {
  if (thread.robust_list != 0) walk_robust_list(process, thread);
  if (thread.clear_child_tid == 0) return;
  if (store_guest(thread.clear_child_tid, std::uint32_t{0}))
    wake_futex(process, &thread.thread, thread.clear_child_tid, 1, kAllBits);
}

void release_shared_futexes(Process& process) {
  const bool others = process.has_had_children || !process.ids.is_root();
  if (!others || process.inside_vfork != nullptr) return;
  for (const auto& thread : process.threads)
    if (thread->robust_list != 0) walk_robust_list(process, *thread);
}

}  // namespace elision::vm
