// SPDX-License-Identifier: Apache-2.0
// tatas: a test-and-test-and-set lock with exponential back-off (AAHTM paper, IV-A), and tts, the same with
// one PAUSE between looks (LHPA paper, section 2). Both use glibc's mutex word and protocol, so that glibc's
// condition variables can lock and unlock the same mutex.
//
//   word | means                        | who may write it next
//   -----+------------------------------+--------------------------------------------------------
//     0  | free                         | anyone: 0 -> 1; a thread that slept: 0 -> 2
//     1  | held, nobody sleeps          | holder: -> 0; a thread about to sleep: -> 2
//     2  | held, somebody may sleep     | holder: -> 0 and one wake-up
//
// A thread that slept takes the lock with 2, because it cannot know whether others still sleep. This costs a
// superfluous wake-up, and never loses one.
//
// Waiters that spin for ever never sleep. Then 2 does not occur, only the holder writes a held word, and it
// releases by a store: an exchange would make it wait until the line is its own. So glibc must not lock such
// a mutex (kGlibcMayLock of designs.h).
#pragma once

#include <atomic>

#include "locks/alone.h"
#include "locks/entry.h"
#include "locks/futex.h"
#include "locks/if_left.h"
#include "locks/lock_words.h"
#include "locks/waiting.h"

namespace elision::locks {

inline constexpr int kFree = 0;
inline constexpr int kHeld = 1;
inline constexpr int kHeldWithSleepers = 2;
static_assert(kFree == 0, "static initialisers are all zero");
static_assert(sizeof(std::atomic<int>) == 4 && std::atomic<int>::is_always_lock_free);

/// The protocol on the word alone. The functions with LockWords do the same on its `word`: the form that the
/// other algorithms of this folder use.
template <class Waiting_, class Pace = Backoff>
struct Tatas {
  using Waiting = Waiting_;
  using Word = std::atomic<int>;

  [[gnu::always_inline]] static bool try_acquire(Word& word) {
    if (is_single_threaded()) [[unlikely]] {
      if (is_held(word)) return false;
      word.store(kHeld, std::memory_order_relaxed);
      return true;
    }
    int expected = kFree;
    return word.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                        std::memory_order_relaxed);
  }

  static bool is_held(const Word& word) { return word.load(std::memory_order_relaxed) != kFree; }

  /// Takes the lock, waiting at most until `deadline`, or for ever if it is null.
  [[gnu::noinline]] static Outcome acquire(Word& word, const Deadline* deadline) {
    Pace pace;
    SpinDeadline until(deadline);
    while (is_held(word) || !try_acquire(word)) {
      if (Waiting::spun_enough(pace.spent())) return acquire_sleeping(word, deadline);
      if (until.has_passed(pace.spent())) return Outcome::kTimedOut;
      pace.wait();
    }
    return Outcome::kAcquired;
  }

  /// Waits until the lock looks free, without taking it. False: the deadline passed first.
  [[gnu::noinline]] static bool wait_until_free(Word& word, const Deadline* deadline) {
    std::uint32_t spun = 0;
    bool slept = false, in_time = true;
    SpinDeadline until(deadline);
    for (int seen; (seen = word.load(std::memory_order_relaxed)) != kFree;) {
      if (!in_time || until.has_passed(spun)) return pass_on(word, slept, false);
      if (!Waiting::spun_enough(spun)) {
        spun += pause_units(1);
        continue;
      }
      if (seen == kHeld && !word.compare_exchange_weak(seen, kHeldWithSleepers, std::memory_order_relaxed))
        continue;
      slept = true;
      const IfLeft if_left(&pass_wake_on, &word);
      in_time = futex_wait(&word, kHeldWithSleepers, kAnyBit, deadline);
    }
    return pass_on(word, slept, true);
  }

  /// Releases the lock. False: it was not held.
  [[gnu::always_inline]] static bool release(Word& word) {
    const int previous = release_asleep(word);
    if (previous == kHeldWithSleepers) [[unlikely]]
      wake(word);
    return previous != kFree;
  }

  /// Releases the lock and returns what its word was. If that is kHeldWithSleepers, wake() must follow. The
  /// word must not be read any more: the next holder may have destroyed it.
  [[gnu::always_inline]] static int release_asleep(Word& word) {
    if (is_single_threaded()) [[unlikely]] {
      if (word.load(std::memory_order_relaxed) == kHeld) {
        word.store(kFree, std::memory_order_relaxed);
        return kHeld;
      }
    }
    if constexpr (Waiting::kSleeps) {
      return word.exchange(kFree, std::memory_order_release);
    } else {
      const int previous = word.load(std::memory_order_relaxed);
      if (previous != kFree) word.store(kFree, std::memory_order_release);
      return previous;
    }
  }
  static void wake(const Word& word) { futex_wake(&word, 1, kAnyBit); }

  /// Releases, inside a transaction, a lock taken before it began. False: the release needs a wake-up, which
  /// would abort the transaction, or the lock is not held.
  static bool release_quietly(Word& word) {
    if (word.load(std::memory_order_relaxed) != kHeld) return false;
    word.store(kFree, std::memory_order_release);
    return true;
  }

  [[gnu::always_inline]] static bool try_acquire(LockWords words) { return try_acquire(*words.word); }
  static bool is_held(LockWords words) { return is_held(*words.word); }
  static Outcome acquire(LockWords words, const Deadline* deadline) { return acquire(*words.word, deadline); }
  static bool wait_until_free(LockWords words, const Deadline* deadline) {
    return wait_until_free(*words.word, deadline);
  }
  [[gnu::always_inline]] static bool release(LockWords words) { return release(*words.word); }
  static bool release_quietly(LockWords words) { return release_quietly(*words.word); }

 private:
  static Outcome acquire_sleeping(Word& word, const Deadline* deadline) {
    const IfLeft if_left(&pass_wake_on, &word);
    while (word.exchange(kHeldWithSleepers, std::memory_order_acquire) != kFree) {
      if (!futex_wait(&word, kHeldWithSleepers, kAnyBit, deadline)) return Outcome::kTimedOut;
    }
    return Outcome::kAcquired;
  }

  /// A release wakes one sleeper and relies on it to take the lock with 2. A sleeper that does not take the
  /// lock passes the wake-up on, or the next one would sleep for ever.
  static bool pass_on(Word& word, bool slept, bool result) {
    if (slept) pass_wake_on(&word);
    return result;
  }
  static void pass_wake_on(void* word) { futex_wake(word, 1, kAnyBit); }
};

}  // namespace elision::locks
