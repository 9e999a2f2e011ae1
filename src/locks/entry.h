// SPDX-License-Identifier: Apache-2.0
// How an attempt to enter a critical section ends, and what a lock needs from the thread that makes it.
#pragma once

#include <concepts>

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
  caller.count_uncontended();  // an acquisition that found the lock free
};

}  // namespace elision::locks
