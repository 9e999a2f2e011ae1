// SPDX-License-Identifier: Apache-2.0
// tatas-pri-aahtm (AAHTM paper, Fig. 4): waiters that have speculated are warm, and go before cold ones. At
// most MAX_SPECS are warm at a time. A cold thread takes the lock only if no thread is warm.
//
//   warm, bits 0-15       | means
//   ----------------------+--------------------------------------------------------------------------
//     0                   | the lock goes to anyone
//     n > 0               | n threads have speculated and spin for the lock: arriving threads wait
//
// Bits 16-31 are their fork generation: the child of a fork ignores the threads of its parent.
//
// Invariant: each thread that raises `warm` lowers it again before it sleeps, gives up or holds the lock.
// Only spinning threads have a priority. A woken thread takes a free lock whatever `warm` says; otherwise a
// wake-up could be lost on a thread that may not take the lock. A warm thread loses its priority when it goes
// to sleep: "the value of prefetching declines with time" (ibid.). glibc and trylock take any free lock.
//
// The paper's n_rdy counts threads after their speculation and not during it, so MAX_SPECS bounds them only
// "roughly".
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
    caller.activity().begin(abi::Activity::kWaiting);
    clock.start();
    recorder.busy();
    Outcome outcome = Outcome::kAcquired;
    SpinDeadline until(deadline);
    for (Backoff backoff; !try_first(words); backoff.wait()) {
      if (until.has_passed(backoff.spent())) {
        // POSIX: a free lock must not time out, even if a warm thread should go first.
        if (!PlainWait<Lock>::try_first(words)) return gave_up(caller);
        break;
      }
      if (warm(words) < caller.parameters().most_warm) {
        if (speculate<Htm>(recorder, caller.activity())) return Entry::kSpeculating;
        outcome = acquire_warm(words, deadline);
        break;
      }
      if (Waiting::spun_enough(backoff.spent())) {
        outcome = Lock::acquire(words, deadline);
        break;
      }
    }
    if (outcome == Outcome::kTimedOut) return gave_up(caller);
    return took_after_wait(caller, recorder, clock);
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
