// SPDX-License-Identifier: Apache-2.0
// Waiting for a lock as the lock itself waits, and the record of it.
//
// A way to wait is a template over a lock, with two functions that every other one has too: try_first, the
// attempt of a thread that arrives, and enter, everything after that attempt failed.
#pragma once

#include "locks/entry.h"
#include "locks/futex.h"

namespace elision::locks {

template <class Lock>
struct PlainWait {
  [[gnu::always_inline]] static bool try_first(LockWords words) {
    return !Lock::is_held(words) && Lock::try_acquire(words);
  }

  /// `clock`: the wait began when it was started, or begins now.
  template <Caller C>
  static Entry enter(LockWords words, C caller, WaitClock& clock, const Deadline* deadline) {
    const Recorder recorder = caller.recorder();
    clock.start();
    recorder.busy();
    if (Lock::acquire(words, deadline) == Outcome::kTimedOut) return Entry::kTimedOut;
    recorder.acquired(clock.started_at());
    return Entry::kHolding;
  }
};

}  // namespace elision::locks
