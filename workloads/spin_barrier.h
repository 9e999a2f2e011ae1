// SPDX-License-Identifier: Apache-2.0
// A barrier whose waiters spin, as OpenMP's do: phases may be shorter than a thread's sleep. With more
// threads than CPUs a waiter gives its CPU to others now and then.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace workloads {

class SpinBarrier {
 public:
  explicit SpinBarrier(unsigned threads) : threads_(threads) {}

  void wait() {
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (unsigned looks = 1; round_.load(std::memory_order_acquire) == round; ++looks) {
      if (looks % kLooksPerYield == 0) sched_yield();
      asm volatile("pause" : : : "memory");
    }
  }

 private:
  static constexpr unsigned kLooksPerYield = 1024;

  const unsigned threads_;
  alignas(128) std::atomic<unsigned> arrived_{0};
  alignas(128) std::atomic<std::uint32_t> round_{0};
};

}  // namespace workloads
