// SPDX-License-Identifier: Apache-2.0
// Waiting for a lock as the lock itself waits, and counting it.
//
// A way to wait is a template over a lock with two functions: try_first, the attempt of an arriving thread,
// and enter, everything after that attempt failed.
#pragma once

#include "locks/entry.h"
#include "locks/futex.h"

namespace elision::locks {

template <class Lock>
struct PlainWait {
  [[gnu::always_inline]] static bool try_first(LockWords words) {
    return !Lock::is_held(words) && Lock::try_acquire(words);
  }

  /// `clock`: started when the wait began. If it was not, the wait begins now.
  template <Caller C>
  static Entry enter(LockWords words, C caller, WaitClock& clock, const Deadline* deadline) {
    const Recorder recorder = caller.recorder();
    caller.activity().begin(abi::Activity::kWaiting);
    clock.start();
    recorder.busy();
    if (Lock::acquire(words, deadline) == Outcome::kTimedOut) return gave_up(caller);
    return took_after_wait(caller, recorder, clock);
  }
};

}  // namespace elision::locks
