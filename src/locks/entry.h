// SPDX-License-Identifier: Apache-2.0
// How an attempt to enter a critical section ends, and what a lock needs from the thread that makes it.
#pragma once

#include <concepts>

#include "locks/activity.h"
#include "locks/lock_words.h"
#include "locks/parameters.h"
#include "locks/recorder.h"
#include "locks/transaction_context.h"

namespace elision::locks {

enum class Entry {
  kHolding,      // the lock was really taken
  kElided,       // a transaction runs in place of the lock
  kSpeculating,  // an always-abort transaction runs: everything that follows will be undone
  kTimedOut,     // the deadline passed
  kBusy,         // trylock: the lock is held
  kOwn,          // the calling thread's transaction already elides it
};

/// How waiting for a lock without transactions ends.
enum class Outcome { kAcquired, kTimedOut };

/// The calling thread at one lock: a handle, passed by value so that an uncontended lock keeps it in
/// registers. The recorder is looked up only when there is something to record.
template <class C>
concept Caller = requires(C caller) {
  { caller.transaction() } -> std::same_as<TransactionContext&>;
  { caller.parameters() } -> std::same_as<const Parameters&>;
  { caller.recorder() } -> std::same_as<Recorder>;
  { caller.activity() } -> std::same_as<ActivityAt>;
  caller.took();  // the lock was taken for real: counts it and notes that the thread holds it
};

/// The lock was taken after a wait.
template <Caller C>
Entry took_after_wait(C caller, const Recorder& recorder, const WaitClock& clock) {
  recorder.acquired(clock.started_at());
  caller.took();
  return Entry::kHolding;
}

/// The deadline passed first.
template <Caller C>
Entry gave_up(C caller) {
  caller.activity().end();
  return Entry::kTimedOut;
}

/// What a commit needs: where to count it, and whose activity it ends.
template <Caller C>
[[gnu::always_inline]] inline void prepare_commit(TransactionContext& me, C caller,
                                                  const Recorder& recorder) {
  recorder.prepare_commit(me.entry, me.entry_is_shared);
  me.activity = caller.activity().thread;
}

}  // namespace elision::locks
