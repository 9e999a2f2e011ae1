// SPDX-License-Identifier: Apache-2.0
// What a thread must know about its own elided critical sections: which locks its transaction elides.
//
// `count` and the records are written inside the transaction only: an abort empties them, so outside a
// transaction the context is always empty. The rest is written before the transaction begins and read
// after it committed. Owned by one thread.
#pragma once

#include <cstdint>

#include "locks/recorder.h"

namespace elision::locks {

struct ElidedLock {
  const void* word;
  std::uint32_t depth;  // how often a recursive lock, or a reader's side, is held
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

  // For the commit: whom to tell, and how long the section had waited.
  abi::CounterEntry* entry = nullptr;
  bool entry_is_shared = false;
  std::uint64_t waited_ticks = 0;

  AuxiliaryPlace* auxiliary = nullptr;  // used while conflicting sections are tried again (auxiliary_queue.h)
  std::uint32_t auxiliary_ticket = 0;   // in its queue
  bool has_auxiliary_ticket = false;

  bool inside() const { return count != 0; }

  ElidedLock* find(const void* word) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (elided[i].word == word) return &elided[i];
    }
    return nullptr;
  }
  /// Whether `word` is held once, and nothing else is.
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
  /// The last takes the place of another. Itself it is not copied: to load what was just stored in pieces
  /// makes the CPU wait for those stores (a fifth of an empty section, Sapphire Rapids).
  void remove(ElidedLock* lock) {
    ElidedLock* const last = &elided[--count];
    if (lock != last) [[unlikely]]
      *lock = *last;
  }
};

}  // namespace elision::locks
