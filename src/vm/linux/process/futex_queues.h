// SPDX-License-Identifier: Apache-2.0
// Queues of waiters by futex word, first come first served. Pure bookkeeping: reads no guest memory, wakes
// nobody.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace elision::vm {

struct KernelThread;

class FutexQueues {
 public:
  void add(std::uint64_t address, std::uint32_t bits, KernelThread& waiter);
  void remove(KernelThread& waiter);
  /// Removes and returns up to `count` waiters of `address` whose bits meet `bits`, oldest first.
  std::vector<KernelThread*> take(std::uint64_t address, unsigned count, std::uint32_t bits);
  /// Moves up to `count` waiters from one queue's front to the other's back; returns how many.
  unsigned move(std::uint64_t from, std::uint64_t to, unsigned count);
  bool has_waiters(std::uint64_t address) const { return queues_.contains(address); }
  void clear() { queues_.clear(); }

 private:
  std::unordered_map<std::uint64_t, std::deque<KernelThread*>> queues_;
};

}  // namespace elision::vm
