// SPDX-License-Identifier: Apache-2.0
// The word of a pthread_spinlock_t, by glibc's protocol on x86: 1 is free, anything less is held. A spin lock
// may be shared with a process that does not use this library, and nothing in its four bytes tells. So no
// other protocol is possible, and neither are sleepers or tickets.
//
// With Park, a thread that has spun long yields its CPU between looks, since the holder may need it.
#pragma once

#include <sched.h>

#include <atomic>

#include "locks/entry.h"
#include "locks/futex.h"
#include "locks/lock_words.h"
#include "locks/waiting.h"

namespace elision::locks {

template <class Waiting_>
struct SpinWord {
  using Waiting = Waiting_;
  static constexpr int kFree = 1;
  static constexpr int kHeld = 0;

  [[gnu::always_inline]] static bool try_acquire(LockWords words) {
    int expected = kFree;
    return words.word->compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                               std::memory_order_relaxed);
  }
  static bool is_held(LockWords words) { return words.word->load(std::memory_order_relaxed) != kFree; }

  [[gnu::noinline]] static Outcome acquire(LockWords words, const Deadline* deadline) {
    while (true) {
      if (!wait_until_free(words, deadline)) return Outcome::kTimedOut;
      if (try_acquire(words)) return Outcome::kAcquired;
    }
  }

  /// False: the deadline passed first.
  [[gnu::noinline]] static bool wait_until_free(LockWords words, const Deadline* deadline) {
    Backoff backoff;
    while (is_held(words)) {
      if (deadline != nullptr && deadline->has_passed()) return false;
      if (Waiting::spun_enough(backoff.spent())) {
        sched_yield();
      } else {
        backoff.wait();
      }
    }
    return true;
  }

  /// False: the lock was not held.
  [[gnu::always_inline]] static bool release(LockWords words) {
    if (!is_held(words)) [[unlikely]]
      return false;
    words.word->store(kFree, std::memory_order_release);
    return true;
  }
  static bool release_quietly(LockWords words) { return release(words); }
};

}  // namespace elision::locks
