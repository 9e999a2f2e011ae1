// SPDX-License-Identifier: Apache-2.0
// The order of fallbacks: a ticket lock on two 64-bit counters (ALE paper, Algorithm 2, lines 33 to 41). A
// thread that has waited long sleeps until the counter moves. It spins longer than other locks' waiters:
// turns come in order, so while a thread wakes up for its turn, no other fallback can run.
#pragma once

#include <atomic>
#include <cstdint>

#include "locks/futex.h"
#include "locks/waiting.h"

namespace elision::tm {

class Turns {
 public:
  /// Takes a turn and waits until it comes. Returns its number, which is never 0.
  std::uint64_t take() {
    const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    std::uint32_t spun = 0;
    while (current_.load(std::memory_order_acquire) != turn) {
      if (spun >= kSpinUnits) {
        sleep_before(turn);
      } else {
        spun += locks::pause_units(1);
      }
    }
    return turn;
  }

  void pass_on() {
    current_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0)
      locks::futex_wake(&current_, locks::kAllSleepers, locks::kAnyBit);
  }

  /// In the child of a fork, whose only thread has the current turn: forgets those that waited.
  void forget_waiters() {
    next_.store(current_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    sleepers_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kSpinUnits = 20 * locks::Park::kSpinUnits;

  /// The futex is the lower half of the counter.
  void sleep_before(std::uint64_t turn) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    const std::uint64_t current = current_.load(std::memory_order_seq_cst);
    if (current != turn)
      locks::futex_wait(&current_, static_cast<std::uint32_t>(current), locks::kAnyBit, nullptr);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  alignas(64) std::atomic<std::uint64_t> next_{1};     // the paper's acquire-counter
  alignas(64) std::atomic<std::uint64_t> current_{1};  // the paper's release-counter
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace elision::tm
