// SPDX-License-Identifier: Apache-2.0
// tatas-pri-aahtm (AAHTM paper, Fig. 4): waiters that have speculated, the warm ones, come before those that
// have not, and at most MAX_SPECS wait warm. A cold thread takes the lock only if nobody is warm.
//
//   warm, bits 0-15       | means
//   ----------------------+--------------------------------------------------------------------------
//     0                   | the lock goes to anyone
//     n > 0               | n threads have speculated and spin for the lock: arrivals wait
//
// Bits 16-31 are the fork since which they do: in the child of another fork they are gone, and count as none.
//
// Invariants: each thread that raises `warm` lowers it again before it sleeps, gives up or holds the lock.
// The priority is among those that look: a thread that sleeps takes what it finds when it is woken, or a
// wake-up could end with a thread that may not take the lock. A warm thread about to sleep is none any more:
// "the value of prefetching declines with time" (ibid.). glibc, and trylock, take a free lock as they find
// it.
//
// The paper's n_rdy counts threads after their speculation; those inside theirs are not counted, which is
// why MAX_SPECS bounds them "roughly".
#pragma once

#include "locks/fork_generation.h"
#include "locks/if_left.h"
#include "locks/speculating_wait.h"

namespace elision::locks {

template <htm::AlwaysAborting Htm, class Lock>
struct PriorityWait {
  using Waiting = typename Lock::Waiting;

  [[gnu::always_inline]] static bool try_first(LockWords words) {
    return warm(words) == 0 && PlainWait<Lock>::try_first(words);
  }

  template <Caller C>
  static Entry enter(LockWords words, C caller, WaitClock& clock, const Deadline* deadline) {
    const Recorder recorder = caller.recorder();
    clock.start();
    recorder.busy();
    Outcome outcome = Outcome::kAcquired;
    SpinDeadline until(deadline);
    for (Backoff backoff; !try_first(words); backoff.wait()) {
      if (until.has_passed(backoff.spent())) {
        // POSIX: no timeout of a lock that is free, even if a warm thread should have come first.
        if (!PlainWait<Lock>::try_first(words)) return Entry::kTimedOut;
        break;
      }
      if (warm(words) < caller.parameters().most_warm) {
        if (speculate<Htm>(recorder)) return Entry::kSpeculating;
        outcome = acquire_warm(words, deadline);
        break;
      }
      if (Waiting::spun_enough(backoff.spent())) {
        outcome = Lock::acquire(words, deadline);
        break;
      }
    }
    if (outcome == Outcome::kTimedOut) return Entry::kTimedOut;
    recorder.acquired(clock.started_at());
    return Entry::kHolding;
  }

 private:
  static constexpr std::uint32_t kCount = 0xffff;

  static std::uint32_t generation() { return fork_generation() << 16; }
  static std::uint32_t warm(LockWords words) {
    const std::uint32_t word = words.warm().load(std::memory_order_relaxed);
    return (word & ~kCount) == generation() ? word & kCount : 0;
  }
  static void add_warm(LockWords words) {
    std::uint32_t word = words.warm().load(std::memory_order_relaxed);
    std::uint32_t more;
    do {
      more = ((word & ~kCount) == generation() ? word : generation()) + 1;
    } while (!words.warm().compare_exchange_weak(word, more, std::memory_order_relaxed));
  }

  static void remove_warm(void* words) {
    static_cast<const LockWords*>(words)->warm().fetch_sub(1, std::memory_order_relaxed);
  }

  static Outcome acquire_warm(LockWords words, const Deadline* deadline) {
    add_warm(words);
    bool acquired = false, in_time = true;
    {
      const IfLeft if_left(&remove_warm, &words);
      SpinDeadline until(deadline);
      for (std::uint32_t spun = 0; in_time && !Waiting::spun_enough(spun); spun += pause_units(1)) {
        acquired = PlainWait<Lock>::try_first(words);
        if (acquired) break;
        in_time = !until.has_passed(spun);
      }
    }
    remove_warm(&words);
    if (acquired) return Outcome::kAcquired;
    return in_time ? Lock::acquire(words, deadline) : Outcome::kTimedOut;
  }
};

}  // namespace elision::locks
