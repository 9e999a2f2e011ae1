// SPDX-License-Identifier: Apache-2.0
// tatas-aahtm: a tatas lock whose waiters speculate (AAHTM paper, Fig. 3). While the lock is held, a
// waiter runs the critical section inside a transaction that never commits: it warms caches and
// branch predictor. After NUM_TRIES speculations it waits like tatas.
//
// Inside such a transaction every lock operation succeeds and does nothing; unlock too (run-on), unless
// abort_at_unlock is set. The transaction ends by its next abort cause.
#pragma once

#include "htm/backend.h"
#include "locks/parameters.h"
#include "locks/tatas.h"

namespace elision::locks {

enum class SpeculativeEntry { kHolding, kSpeculating, kTimedOut };

/// One always-abort transaction. True: it runs now (the caller returns to the program); false: it is over.
template <htm::AlwaysAborting Htm>
[[gnu::always_inline]] inline bool speculate(const Recorder& recorder) {
  recorder.speculation();
  const htm::Status status = Htm::begin_always_abort();
  if (status.started()) return true;
  recorder.abort(status.cause());
  return false;
}

template <htm::AlwaysAborting Htm, class Waiting>
struct TatasAahtm {
  using Plain = Tatas<Waiting>;
  using Word = typename Plain::Word;

  /// Not to be called while speculating.
  static SpeculativeEntry enter(Word& word, const Parameters& parameters, Recorder recorder,
                                const Deadline* deadline) {
    WaitClock clock;
    clock.start();
    recorder.busy();
    for (std::uint32_t tries = 0; Plain::is_held(word) || !Plain::try_acquire(word); ++tries) {
      if (deadline != nullptr && deadline->has_passed()) return SpeculativeEntry::kTimedOut;
      if (tries == parameters.tries) {
        if (Plain::acquire(word, deadline) == Outcome::kTimedOut) return SpeculativeEntry::kTimedOut;
        break;
      }
      if (speculate<Htm>(recorder)) return SpeculativeEntry::kSpeculating;
    }
    recorder.acquired(clock.started_at());
    return SpeculativeEntry::kHolding;
  }
};

}  // namespace elision::locks
