// SPDX-License-Identifier: Apache-2.0
// Waiting by always-abort speculation (AAHTM paper, Fig. 3): while the lock is held, a waiter runs the
// critical section inside a transaction that never commits, which warms caches and branch predictor. After
// NUM_TRIES speculations it waits as the lock itself does. Over a tatas lock this is tatas-aahtm, over
// glibc's mutex pthread-aahtm.
//
// Inside such a transaction every lock operation succeeds and does nothing, unlock included (run-on), unless
// abort_at_unlock is set. The transaction runs until something aborts it. Callers check speculating() first:
// nothing here may be called while speculating.
#pragma once

#include "htm/backend.h"
#include "locks/plain_wait.h"

namespace elision::locks {

/// For speculate(): nothing is looked at inside the transaction.
struct NoSubscription {
  bool operator()() const { return false; }
};

/// Begins one always-abort transaction. True: it runs, and the caller returns to the program. False: it
/// ended. `is_over` is asked inside the transaction, which ends at once if it is: what it reads is subscribed
/// to, so that a later change ends the transaction too.
template <htm::AlwaysAborting Htm, class IsOver = NoSubscription>
[[gnu::always_inline]] inline bool speculate(const Recorder& recorder, const ActivityAt& activity,
                                             IsOver is_over = {}) {
  recorder.speculation();
  activity.begin(abi::Activity::kSpeculating);
  htm::Status status = Htm::begin_always_abort();
  if (status.started()) {
    if (!is_over()) return true;
    status = Htm::template abort<htm::kCodeLockBusy>();
  }
  activity.turn_to(abi::Activity::kWaiting);
  recorder.abort(status.cause());
  return false;
}

template <htm::AlwaysAborting Htm, class Lock>
struct SpeculatingWait {
  [[gnu::always_inline]] static bool try_first(LockWords words) { return PlainWait<Lock>::try_first(words); }

  template <Caller C>
  static Entry enter(LockWords words, C caller, WaitClock& clock, const Deadline* deadline) {
    const Recorder recorder = caller.recorder();
    caller.activity().begin(abi::Activity::kWaiting);
    clock.start();
    recorder.busy();
    for (std::uint32_t tries = 0; Lock::is_held(words) || !Lock::try_acquire(words); ++tries) {
      if (deadline != nullptr && deadline->has_passed()) return gave_up(caller);
      if (tries == caller.parameters().speculation_tries) {
        if (Lock::acquire(words, deadline) == Outcome::kTimedOut) return gave_up(caller);
        break;
      }
      if (speculate<Htm>(recorder, caller.activity())) return Entry::kSpeculating;
    }
    return took_after_wait(caller, recorder, clock);
  }
};

}  // namespace elision::locks
