// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/process/futex_queues.h"

#include <algorithm>

#include "vm/linux/process/kernel_thread.h"

namespace elision::vm {

void FutexQueues::add(std::uint64_t address, std::uint32_t bits, KernelThread& waiter) {
  waiter.futex_address = address;
  waiter.futex_bits = bits;
  queues_[address].push_back(&waiter);
}

void FutexQueues::remove(KernelThread& waiter) {
  const auto queue = queues_.find(waiter.futex_address);
  if (queue == queues_.end()) return;
  waiter.futex_address = 0;
  std::erase(queue->second, &waiter);
  if (queue->second.empty()) queues_.erase(queue);
}

std::vector<KernelThread*> FutexQueues::take(std::uint64_t address, unsigned count, std::uint32_t bits) {
  std::vector<KernelThread*> taken;
  const auto found = queues_.find(address);
  if (found == queues_.end()) return taken;
  auto& queue = found->second;
  for (auto waiter = queue.begin(); waiter != queue.end() && taken.size() < count;) {
    if (((*waiter)->futex_bits & bits) == 0) {
      ++waiter;
      continue;
    }
    (*waiter)->futex_address = 0;
    taken.push_back(*waiter);
    waiter = queue.erase(waiter);
  }
  if (queue.empty()) queues_.erase(found);
  return taken;
}

unsigned FutexQueues::move(std::uint64_t from, std::uint64_t to, unsigned count) {
  if (from == to) return 0;
  const std::vector<KernelThread*> moved = take(from, count, ~0u);
  for (KernelThread* waiter : moved) add(to, waiter->futex_bits, *waiter);
  return static_cast<unsigned>(moved.size());
}

}  // namespace elision::vm
