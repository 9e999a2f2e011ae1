// SPDX-License-Identifier: Apache-2.0
// A reader-writer lock as two locks on one word: the reader's side and the writer's side each speak the
// protocol of tatas.h, so that every design of this folder (plain, eliding, speculating) takes either.
//
//   state (the word of LockWords)
//     bits 0-27      readers inside; the caller sees to it that they do not overflow
//     kWriterFirst   the head is a writer, and arriving readers queue behind it (LockWords::writers_first)
//     kSleeps        somebody may sleep on this word
//     kWriter        a writer is inside
//
// Writers that must wait take the gate, one after the other; its holder is the head, the only writer
// that waits on the word. Readers wait on the word, while a writer is inside; those of a lock with
// writers_first queue at the gate before.
//
// Invariants (checked as a model, which also says why: tests/models/rwlock.pml; it has neither
// wait_until_free nor release_quietly nor forks):
//  - kWriter and readers exclude each other: both are entered by compare-and-swap of the whole word only.
//  - The releasing step is the last touch of the lock; a wake-up uses its address alone. A writer wakes all
//    sleepers, the last reader one, which is for the head: should a reader take it that a writer has freed
//    and not yet woken, that writer's wake-up for all is still to come.
//  - Without writers_first a reader waits for a writer inside and for nothing else: a thread that holds the
//    reader's side may take it again, even if others wait (POSIX; glibc's default kind).
//  - kSleeps goes with its reason: the thread that ends it takes kSleeps away and wakes.
//  - A head that leaves for good (if_left.h) gives the gate back, as one whose deadline passed.
//
// Gate: Tatas, or Ticket, whose queue makes the writers FIFO (and the readers of a lock with writers_first);
// arriving writers then queue whenever anybody does.
//
// In the child of a fork those who waited are gone, but the gate is still theirs. The first thread that has
// to wait there forgets them: all who wait carry the fork's generation, so none of them can be alive.
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

/// What both sides share. `Side` says what blocks it, what entering and leaving do to the state, whether it
/// queues at the gate, and whom to wake.
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

  /// Waits until the side is free and does not enter. False: the deadline passed first.
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
    if (is_single_threaded() && load(words) == expected) {
      words.word->store(static_cast<int>(desired), std::memory_order_relaxed);
      return true;
    }
    int seen = static_cast<int>(expected);
    const bool done =
        words.word->compare_exchange_weak(seen, static_cast<int>(desired), order, std::memory_order_relaxed);
    expected = static_cast<std::uint32_t>(seen);
    return done;
  }

 private:
  /// Waits until nothing inside blocks this side. `state` is what was seen last, `spun` how long this thread
  /// has looked before. False: the deadline passed first, and the word says nothing of this thread any more.
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

  /// Those whom kWriterFirst keeps out are at the gate: nobody needs to be woken.
  static void withdraw(LockWords words) {
    if (Side::mark(words) != 0)
      words.word->fetch_and(static_cast<int>(~Side::mark(words)), std::memory_order_relaxed);
  }

  /// For IfLeft: the head, which has the gate, waits no longer.
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
    if (seen == fork_generation()) return;  // another thread has adopted it meanwhile
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
  // kWriterFirst is set only where writers_first is; behind the gate, never.
  static bool blocks_arrival(LockWords, std::uint32_t state) {
    return (state & (kWriter | kWriterFirst)) != 0;
  }
  static bool blocks_entry(std::uint32_t state) { return (state & kWriter) != 0; }
  static bool queues(LockWords words) { return words.writers_first(); }
  static constexpr std::uint32_t mark(LockWords) { return 0; }
  static bool is_inside(std::uint32_t state) { return (state & kReaders) != 0; }
  static std::uint32_t with_one(std::uint32_t state) { return state + 1; }
  static std::uint32_t without_one(std::uint32_t state) {
    const std::uint32_t left = state - 1;
    return (left & kReaders) == 0 ? left & ~kSleeps : left;
  }
};

template <class Gate>
struct WriteSide : RwSide<Gate, WriteSide<Gate>> {
  static constexpr std::uint32_t kWakes = kAllSleepers;
  static bool blocks_arrival(LockWords words, std::uint32_t state) {
    return state != 0 || (Gate::kFifo && Gate::is_held(words));
  }
  static bool blocks_entry(std::uint32_t state) { return (state & (kWriter | kReaders)) != 0; }
  static constexpr bool queues(LockWords) { return true; }
  static std::uint32_t mark(LockWords words) { return words.writers_first() ? kWriterFirst : 0; }
  static bool is_inside(std::uint32_t state) { return (state & kWriter) != 0; }
  static std::uint32_t with_one(std::uint32_t) { return kWriter; }
  static std::uint32_t without_one(std::uint32_t state) { return state & ~(kWriter | kSleeps); }

  /// The calling thread's reader's side becomes this one, unless another reader is inside. The marks of who
  /// waits stay, above all kSleeps: the reason to sleep changes, and this writer's release wakes all.
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
