// SPDX-License-Identifier: Apache-2.0
// A thread's own record of the locks that its transaction elides.
//
// `count` and the records are written only inside the transaction. An abort undoes them, so outside of
// transactions the context is always empty. The rest is written before the transaction begins and read after
// the commit. Owned by one thread.
#pragma once

#include <cstdint>

#include "abi/thread_activity.h"
#include "locks/recorder.h"

namespace elision::locks {

struct ElidedLock {
  const void* word;
  std::uint32_t depth;  // how often the thread holds a recursive lock or a reader's side
  bool writes;          // false: the reader's side of a reader-writer lock
};

struct AuxiliaryPlace;

/// The wake of a condition variable's signal (condition.h), which waits for the commit.
struct DeferredSignal {
  const void* futex;
  std::uint32_t sequence;  // what the signal raised it to
  bool all;                // a broadcast
};

struct alignas(64) TransactionContext {
  static constexpr std::uint32_t kMostLocks = 16;
  static constexpr std::uint32_t kMostDeferred = 8;

  std::uint32_t count = 0;
  ElidedLock elided[kMostLocks] = {};

  // Written inside, read after the commit.
  std::uint32_t deferred_count = 0;
  DeferredSignal deferred[kMostDeferred] = {};

  // For the commit: where to count it, and how long the section waited.
  abi::CounterEntry* entry = nullptr;
  bool entry_is_shared = false;
  abi::ThreadActivity* activity = nullptr;
  std::uint64_t waited_ticks = 0;

  AuxiliaryPlace* auxiliary = nullptr;  // in use after a conflict (auxiliary_queue.h)
  std::uint32_t auxiliary_ticket = 0;   // in its queue
  bool has_auxiliary_ticket = false;

  bool inside() const { return count != 0; }

  ElidedLock* find(const void* word) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (elided[i].word == word) return &elided[i];
    }
    return nullptr;
  }
  /// Whether the transaction elides only `word`, and once.
  bool has_only(const void* word) const {
    return count == 1 && elided[0].word == word && elided[0].depth == 1;
  }
  /// False: there is no room.
  bool defer(const DeferredSignal& signal) {
    if (deferred_count == kMostDeferred) return false;
    deferred[deferred_count++] = signal;
    return true;
  }

  /// The lock with which a transaction begins.
  void add_first(const void* word, bool writes) {
    count = 1;
    elided[0] = {word, 1, writes};
  }
  void add(const void* word, bool writes) { elided[count++] = {word, 1, writes}; }
  /// Moves the last record into the removed one's place. It is not copied onto itself: a wide load of a
  /// record that was just stored in pieces waits for those stores (a fifth of an empty section on Sapphire
  /// Rapids).
  void remove(ElidedLock* lock) {
    ElidedLock* const last = &elided[--count];
    if (lock != last) [[unlikely]]
      *lock = *last;
  }
};

/// The thread has released the innermost lock that it took for real.
inline void note_released(abi::ThreadActivity& activity, const TransactionContext& me) {
  if (me.inside()) [[unlikely]]
    return activity.release_under_attempt();
  activity.release();
}

}  // namespace elision::locks
