// SPDX-License-Identifier: Apache-2.0
// A reader-writer lock as two locks on one word. The reader's side and the writer's side each have the
// protocol of tatas.h, so that every design of this folder (plain, eliding, speculating) works with either.
//
//   state (the word of LockWords)
//     bits 0-27      number of readers inside; the caller prevents an overflow
//     kWriterFirst   the head is a writer, and arriving readers queue behind it (LockWords::writers_first)
//     kSleeps        a thread may sleep on this word
//     kWriter        a writer is inside
//
// A writer that must wait takes the gate. The gate's holder is the head, the only writer that waits on the
// word. Readers wait on the word while a writer is inside. With writers_first, readers that must wait take
// the gate first.
//
// Invariants (tests/models/rwlock.pml checks them and gives reasons; the model lacks wait_until_free,
// release_quietly and forks):
//  - kWriter and readers exclude each other: both enter only by compare-and-swap of the whole word.
//  - The releasing step is the last access to the lock; a wake-up uses only its address. A writer wakes all
//    sleepers. The last reader wakes one, which is meant for the head. If a reader takes that wake-up
//    instead, a writer has freed the word in between, and its wake-up of all is still to come.
//  - Without writers_first a reader waits only for a writer inside. So a thread that holds the reader's side
//    may take it again even if others wait (POSIX; glibc's default kind).
//  - The thread that ends the reason to sleep clears kSleeps and wakes.
//  - A head that leaves for good (if_left.h) releases the gate, as one whose deadline passed does.
//
// Gate: Tatas or Ticket. With Ticket the writers are FIFO (with writers_first, the readers too), and arriving
// writers queue whenever any thread does.
//
// In the child of a fork the waiters are gone, but the gate is still theirs. The first thread that must wait
// clears their marks: the generation shows that all of them belong to the parent.
#pragma once

#include "locks/alone.h"
#include "locks/entry.h"
#include "locks/fork_generation.h"
#include "locks/futex.h"
#include "locks/if_left.h"
#include "locks/lock_words.h"
#include "locks/tatas.h"
#include "locks/ticket.h"
#include "locks/waiting.h"

namespace elision::locks {

inline constexpr std::uint32_t kReaders = (1u << 28) - 1;
inline constexpr std::uint32_t kWriterFirst = 1u << 28;
inline constexpr std::uint32_t kSleeps = 1u << 29;
inline constexpr std::uint32_t kWriter = 1u << 30;

/// The gate of designs that are not FIFO.
template <class Waiting_>
struct TatasGate {
  using Waiting = Waiting_;
  static constexpr bool kFifo = false;
  static Outcome acquire(LockWords words, const Deadline* deadline) {
    return Tatas<Waiting>::acquire(words.gate(), deadline);
  }
  static void release(LockWords words) { Tatas<Waiting>::release(words.gate()); }
  static bool is_held(LockWords words) { return Tatas<Waiting>::is_held(words.gate()); }
  static void forget(LockWords words) { words.gate().store(kFree, std::memory_order_relaxed); }
};

template <class Waiting_>
struct TicketGate {
  using Waiting = Waiting_;
  static constexpr bool kFifo = true;
  static Outcome acquire(LockWords words, const Deadline* deadline) {
    return Ticket<Waiting>::acquire(words.ticket(), deadline);
  }
  static void release(LockWords words) { Ticket<Waiting>::release(words.ticket()); }
  static bool is_held(LockWords words) { return Ticket<Waiting>::is_held(words.ticket()); }
  static void forget(LockWords words) { Ticket<Waiting>::forget(words.ticket()); }
};

/// What both sides share. `Side` says what blocks it, how entering and leaving change the state, whether it
/// queues at the gate, and how many sleepers it wakes.
template <class Gate, class Side>
struct RwSide {
  using Waiting = typename Gate::Waiting;

  /// Whether a thread that arrives must wait.
  static bool is_held(LockWords words) {
    if (!Side::blocks_arrival(words, load(words))) return false;
    if (!is_of_another_process(words)) [[likely]]
      return true;
    adopt(words);
    return Side::blocks_arrival(words, load(words));
  }

  [[gnu::always_inline]] static bool try_acquire(LockWords words) {
    std::uint32_t state = load(words);
    do {
      if (Side::blocks_arrival(words, state)) return false;
    } while (!exchange(words, state, Side::with_one(state), std::memory_order_acquire));
    return true;
  }

  [[gnu::noinline]] static Outcome acquire(LockWords words, const Deadline* deadline) {
    adopt(words);
    if (Side::queues(words) && Gate::acquire(words, deadline) == Outcome::kTimedOut)
      return Outcome::kTimedOut;
    std::uint32_t state = load(words);
    bool entered = false;
    {
      const IfLeft if_left(Side::queues(words) ? &leave : nullptr, &words);
      while (!entered && await(words, state, deadline, 0))
        entered = exchange(words, state, Side::with_one(state), std::memory_order_acquire);
    }
    if (Side::queues(words)) Gate::release(words);
    return entered ? Outcome::kAcquired : Outcome::kTimedOut;
  }

  /// Waits until the side is free, without entering. False: the deadline passed first.
  [[gnu::noinline]] static bool wait_until_free(LockWords words, const Deadline* deadline) {
    std::uint32_t spun = 0;
    for (SpinDeadline until(deadline); !Waiting::spun_enough(spun); spun += pause_units(1)) {
      if (!is_held(words)) return true;
      if (until.has_passed(spun)) return false;
    }
    adopt(words);
    if (Side::queues(words) && Gate::acquire(words, deadline) == Outcome::kTimedOut) return false;
    std::uint32_t state = load(words);
    bool in_time = false;
    {
      const IfLeft if_left(Side::queues(words) ? &leave : nullptr, &words);
      in_time = await(words, state, deadline, spun);
      if (in_time) withdraw(words);
    }
    if (Side::queues(words)) Gate::release(words);
    return in_time;
  }

  /// False: nobody was inside on this side.
  [[gnu::always_inline]] static bool release(LockWords words) {
    std::uint32_t state = load(words);
    std::uint32_t after;
    do {
      if (!Side::is_inside(state)) [[unlikely]]
        return false;
      after = Side::without_one(state);
    } while (!exchange(words, state, after, std::memory_order_release));
    if (((state ^ after) & kSleeps) != 0) [[unlikely]]
      futex_wake(words.word, Side::kWakes, kAnyBit);
    return true;
  }

  /// The steps of a thread that finds no mark in the state and nothing that blocks it. Of a FIFO gate the
  /// caller knows that it is free. False: nothing was done.
  [[gnu::always_inline]] static bool try_acquire_plainly(LockWords words) {
    std::uint32_t state = load(words);
    do {
      if (!Side::is_free_and_unmarked(state)) [[unlikely]]
        return false;
    } while (!exchange(words, state, state + Side::kOne, std::memory_order_acquire));
    return true;
  }
  [[gnu::always_inline]] static bool release_plainly(LockWords words) {
    std::uint32_t state = load(words);
    do {
      if (!Side::is_inside_and_unmarked(state)) [[unlikely]]
        return false;
    } while (!exchange(words, state, state - Side::kOne, std::memory_order_release));
    return true;
  }

  static bool release_quietly(LockWords words) {
    const std::uint32_t state = load(words);
    if (!Side::is_inside(state) || (state & kSleeps) != 0) return false;
    words.word->store(static_cast<int>(Side::without_one(state)), std::memory_order_release);
    return true;
  }

 protected:
  static std::uint32_t load(LockWords words) {
    return static_cast<std::uint32_t>(words.word->load(std::memory_order_relaxed));
  }
  [[gnu::always_inline]] static bool exchange(LockWords words, std::uint32_t& expected, std::uint32_t desired,
                                              std::memory_order order) {
    if (is_single_threaded()) [[unlikely]] {
      if (load(words) == expected) {
        words.word->store(static_cast<int>(desired), std::memory_order_relaxed);
        return true;
      }
    }
    int seen = static_cast<int>(expected);
    const bool done =
        words.word->compare_exchange_weak(seen, static_cast<int>(desired), order, std::memory_order_relaxed);
    expected = static_cast<std::uint32_t>(seen);
    return done;
  }

 private:
  /// Waits until no thread inside blocks this side. `state`: the last value read; `spun`: units that this
  /// thread has already spun. False: the deadline passed first, and this thread's marks are gone.
  static bool await(LockWords words, std::uint32_t& state, const Deadline* deadline, std::uint32_t spun) {
    bool in_time = true;
    for (SpinDeadline until(deadline); Side::blocks_entry(state); state = load(words)) {
      if (!in_time || until.has_passed(spun)) {
        withdraw(words);
        return false;
      }
      const std::uint32_t marked = state | Side::mark(words);
      if (!Waiting::spun_enough(spun)) {
        if (marked != state) (void)exchange(words, state, marked, std::memory_order_relaxed);
        spun += pause_units(1);
      } else if (exchange(words, state, marked | kSleeps, std::memory_order_relaxed)) {
        in_time = futex_wait(words.word, marked | kSleeps, kAnyBit, deadline);
      }
    }
    return true;
  }

  /// Clears this thread's mark. Readers that kWriterFirst keeps out wait at the gate: none needs a wake-up.
  static void withdraw(LockWords words) {
    if (Side::mark(words) != 0)
      words.word->fetch_and(static_cast<int>(~Side::mark(words)), std::memory_order_relaxed);
  }

  /// For IfLeft: the head leaves its wait and releases the gate.
  static void leave(void* argument) {
    const LockWords words = *static_cast<const LockWords*>(argument);
    withdraw(words);
    Gate::release(words);
  }

  // ---- After a fork.

  static bool is_of_another_process(LockWords words) {
    return words.generation().load(std::memory_order_acquire) != fork_generation();
  }

  static void adopt(LockWords words) {
    if (is_of_another_process(words)) [[unlikely]]
      adopt_slow(words);
  }

  [[gnu::noinline, gnu::cold]] static void adopt_slow(LockWords words) {
    std::uint32_t seen = words.generation().load(std::memory_order_acquire);
    if (seen == fork_generation()) return;  // another thread was faster
    if (seen != adopting() &&
        words.generation().compare_exchange_strong(seen, adopting(), std::memory_order_acquire)) {
      Gate::forget(words);
      words.word->fetch_and(static_cast<int>(~(kSleeps | kWriterFirst)), std::memory_order_relaxed);
      words.generation().store(fork_generation(), std::memory_order_release);
      return;
    }
    while (words.generation().load(std::memory_order_acquire) == adopting()) pause_units(1);
  }
};

template <class Gate>
struct ReadSide : RwSide<Gate, ReadSide<Gate>> {
  static constexpr std::uint32_t kWakes = 1;
  static constexpr std::uint32_t kOne = 1;
  // kWriterFirst implies writers_first. It blocks arriving readers, not those that hold the gate.
  static bool blocks_arrival(LockWords, std::uint32_t state) {
    return (state & (kWriter | kWriterFirst)) != 0;
  }
  static bool blocks_entry(std::uint32_t state) { return (state & kWriter) != 0; }
  static bool queues(LockWords words) { return words.writers_first(); }
  static constexpr std::uint32_t mark(LockWords) { return 0; }
  static bool is_inside(std::uint32_t state) { return (state & kReaders) != 0; }
  /// Also: one more reader can be counted.
  static bool is_free_and_unmarked(std::uint32_t state) { return state < kReaders; }
  static bool is_inside_and_unmarked(std::uint32_t state) { return state - 1 < kReaders; }
  static std::uint32_t with_one(std::uint32_t state) { return state + kOne; }
  static std::uint32_t without_one(std::uint32_t state) {
    const std::uint32_t left = state - kOne;
    return (left & kReaders) == 0 ? left & ~kSleeps : left;
  }
};

template <class Gate>
struct WriteSide : RwSide<Gate, WriteSide<Gate>> {
  static constexpr std::uint32_t kWakes = kAllSleepers;
  static constexpr std::uint32_t kOne = kWriter;
  static bool blocks_arrival(LockWords words, std::uint32_t state) {
    return state != 0 || (Gate::kFifo && Gate::is_held(words));
  }
  static bool blocks_entry(std::uint32_t state) { return (state & (kWriter | kReaders)) != 0; }
  static constexpr bool queues(LockWords) { return true; }
  static std::uint32_t mark(LockWords words) { return words.writers_first() ? kWriterFirst : 0; }
  static bool is_inside(std::uint32_t state) { return (state & kWriter) != 0; }
  static bool is_free_and_unmarked(std::uint32_t state) { return state == 0; }
  static bool is_inside_and_unmarked(std::uint32_t state) { return state == kWriter; }
  static std::uint32_t with_one(std::uint32_t) { return kWriter; }
  static std::uint32_t without_one(std::uint32_t state) { return state & ~(kWriter | kSleeps); }

  /// Turns the calling thread's reader's side into the writer's side, unless another reader is inside. The
  /// waiters' marks stay, above all kSleeps: this writer's release will wake all sleepers.
  static bool try_upgrade(LockWords words) {
    std::uint32_t state = RwSide<Gate, WriteSide>::load(words);
    do {
      if ((state & kReaders) != 1) return false;
    } while (!RwSide<Gate, WriteSide>::exchange(words, state, (state & ~kReaders) | kWriter,
                                                std::memory_order_acquire));
    return true;
  }
};

}  // namespace elision::locks
