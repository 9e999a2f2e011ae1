// SPDX-License-Identifier: Apache-2.0
// A reader-writer lock as two locks on one word: the reader's side and the writer's side each speak the
// protocol of tatas.h, so that every design of this folder (plain, eliding, speculating) takes either.
//
//   state (the cell's word)
//     bits 0-27      readers inside; the caller sees to it that they do not overflow
//     kWriterFirst   the head is a writer, and arriving readers queue behind it (Cell::writers_first)
//     kSleeps        somebody may sleep on this word
//     kWriter        a writer is inside
//
// Writers that must wait take the gate, one after the other; whoever has it is the head, the only writer
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
//    reader's side may take it again whoever waits (POSIX; glibc's default kind).
//  - kSleeps goes with its reason: whoever ends that takes it away and wakes.
//  - A head that leaves for good (if_left.h) gives the gate back, as one whose deadline passed.
//
// Gate: Tatas, or Ticket, whose queue makes the writers FIFO (and the readers of a lock with writers_first);
// arriving writers then queue whenever anybody does.
//
// In the child of a fork those who waited are gone, but the gate is still theirs. Whoever has to wait first
// there forgets them: all who wait carry the fork's generation, so none of them can be alive.
#pragma once

#include "locks/alone.h"
#include "locks/cell.h"
#include "locks/entry.h"
#include "locks/fork_generation.h"
#include "locks/futex.h"
#include "locks/if_left.h"
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
  static Outcome acquire(Cell cell, const Deadline* deadline) {
    return Tatas<Waiting>::acquire(cell.gate(), deadline);
  }
  static void release(Cell cell) { Tatas<Waiting>::release(cell.gate()); }
  static bool is_held(Cell cell) { return Tatas<Waiting>::is_held(cell.gate()); }
  static void forget(Cell cell) { cell.gate().store(kFree, std::memory_order_relaxed); }
};

template <class Waiting_>
struct TicketGate {
  using Waiting = Waiting_;
  static constexpr bool kFifo = true;
  static Outcome acquire(Cell cell, const Deadline* deadline) {
    return Ticket<Waiting>::acquire(cell.ticket(), deadline);
  }
  static void release(Cell cell) { Ticket<Waiting>::release(cell.ticket()); }
  static bool is_held(Cell cell) { return Ticket<Waiting>::is_held(cell.ticket()); }
  static void forget(Cell cell) { Ticket<Waiting>::forget(cell.ticket()); }
};

/// What both sides share. `Side` says what blocks it, what entering and leaving do to the state, whether it
/// queues at the gate, and whom to wake.
template <class Gate, class Side>
struct RwSide {
  using Waiting = typename Gate::Waiting;

  /// Whether a thread that arrives must wait.
  static bool is_held(Cell cell) {
    if (!Side::blocks_arrival(cell, load(cell))) return false;
    if (!is_of_another_process(cell)) [[likely]]
      return true;
    adopt(cell);
    return Side::blocks_arrival(cell, load(cell));
  }

  [[gnu::always_inline]] static bool try_acquire(Cell cell) {
    std::uint32_t state = load(cell);
    do {
      if (Side::blocks_arrival(cell, state)) return false;
    } while (!exchange(cell, state, Side::with_one(state), std::memory_order_acquire));
    return true;
  }

  [[gnu::noinline]] static Outcome acquire(Cell cell, const Deadline* deadline) {
    adopt(cell);
    if (Side::queues(cell) && Gate::acquire(cell, deadline) == Outcome::kTimedOut) return Outcome::kTimedOut;
    std::uint32_t state = load(cell);
    bool entered = false;
    {
      const IfLeft if_left(Side::queues(cell) ? &leave : nullptr, &cell);
      while (!entered && await(cell, state, deadline, 0))
        entered = exchange(cell, state, Side::with_one(state), std::memory_order_acquire);
    }
    if (Side::queues(cell)) Gate::release(cell);
    return entered ? Outcome::kAcquired : Outcome::kTimedOut;
  }

  /// Waits until the side is free and does not enter. False: the deadline passed first.
  [[gnu::noinline]] static bool wait_until_free(Cell cell, const Deadline* deadline) {
    std::uint32_t spun = 0;
    for (SpinDeadline until(deadline); !Waiting::spun_enough(spun); spun += pause_units(1)) {
      if (!is_held(cell)) return true;
      if (until.has_passed(spun)) return false;
    }
    adopt(cell);
    if (Side::queues(cell) && Gate::acquire(cell, deadline) == Outcome::kTimedOut) return false;
    std::uint32_t state = load(cell);
    bool in_time = false;
    {
      const IfLeft if_left(Side::queues(cell) ? &leave : nullptr, &cell);
      in_time = await(cell, state, deadline, spun);
      if (in_time) withdraw(cell);
    }
    if (Side::queues(cell)) Gate::release(cell);
    return in_time;
  }

  /// False: nobody was inside on this side.
  [[gnu::always_inline]] static bool release(Cell cell) {
    std::uint32_t state = load(cell);
    std::uint32_t after;
    do {
      if (!Side::is_inside(state)) [[unlikely]]
        return false;
      after = Side::without_one(state);
    } while (!exchange(cell, state, after, std::memory_order_release));
    if (((state ^ after) & kSleeps) != 0) [[unlikely]]
      futex_wake(cell.word, Side::kWakes, kAnyBit);
    return true;
  }

  static bool release_quietly(Cell cell) {
    const std::uint32_t state = load(cell);
    if (!Side::is_inside(state) || (state & kSleeps) != 0) return false;
    cell.word->store(static_cast<int>(Side::without_one(state)), std::memory_order_release);
    return true;
  }

 protected:
  static std::uint32_t load(Cell cell) {
    return static_cast<std::uint32_t>(cell.word->load(std::memory_order_relaxed));
  }
  [[gnu::always_inline]] static bool exchange(Cell cell, std::uint32_t& expected, std::uint32_t desired,
                                              std::memory_order order) {
    if (is_single_threaded() && load(cell) == expected) {
      cell.word->store(static_cast<int>(desired), std::memory_order_relaxed);
      return true;
    }
    int seen = static_cast<int>(expected);
    const bool done =
        cell.word->compare_exchange_weak(seen, static_cast<int>(desired), order, std::memory_order_relaxed);
    expected = static_cast<std::uint32_t>(seen);
    return done;
  }

 private:
  /// Waits until nothing inside blocks this side. `state` is what was seen last, `spun` how long this thread
  /// has looked before. False: the deadline passed first, and the word says nothing of this thread any more.
  static bool await(Cell cell, std::uint32_t& state, const Deadline* deadline, std::uint32_t spun) {
    bool in_time = true;
    for (SpinDeadline until(deadline); Side::blocks_entry(state); state = load(cell)) {
      if (!in_time || until.has_passed(spun)) {
        withdraw(cell);
        return false;
      }
      const std::uint32_t marked = state | Side::mark(cell);
      if (!Waiting::spun_enough(spun)) {
        if (marked != state) (void)exchange(cell, state, marked, std::memory_order_relaxed);
        spun += pause_units(1);
      } else if (exchange(cell, state, marked | kSleeps, std::memory_order_relaxed)) {
        in_time = futex_wait(cell.word, marked | kSleeps, kAnyBit, deadline);
      }
    }
    return true;
  }

  /// Those whom kWriterFirst keeps out are at the gate: nobody needs to be woken.
  static void withdraw(Cell cell) {
    if (Side::mark(cell) != 0)
      cell.word->fetch_and(static_cast<int>(~Side::mark(cell)), std::memory_order_relaxed);
  }

  /// For IfLeft: the head, which has the gate, waits no longer.
  static void leave(void* argument) {
    const Cell cell = *static_cast<const Cell*>(argument);
    withdraw(cell);
    Gate::release(cell);
  }

  // ---- After a fork.

  static bool is_of_another_process(Cell cell) {
    return cell.generation().load(std::memory_order_acquire) != fork_generation();
  }

  static void adopt(Cell cell) {
    if (is_of_another_process(cell)) [[unlikely]]
      adopt_slow(cell);
  }

  [[gnu::noinline, gnu::cold]] static void adopt_slow(Cell cell) {
    std::uint32_t seen = cell.generation().load(std::memory_order_acquire);
    if (seen == fork_generation()) return;  // another thread has adopted it meanwhile
    if (seen != adopting() &&
        cell.generation().compare_exchange_strong(seen, adopting(), std::memory_order_acquire)) {
      Gate::forget(cell);
      cell.word->fetch_and(static_cast<int>(~(kSleeps | kWriterFirst)), std::memory_order_relaxed);
      cell.generation().store(fork_generation(), std::memory_order_release);
      return;
    }
    while (cell.generation().load(std::memory_order_acquire) == adopting()) pause_units(1);
  }
};

template <class Gate>
struct ReadSide : RwSide<Gate, ReadSide<Gate>> {
  static constexpr std::uint32_t kWakes = 1;
  // kWriterFirst is set only where writers_first is; behind the gate, never.
  static bool blocks_arrival(Cell, std::uint32_t state) { return (state & (kWriter | kWriterFirst)) != 0; }
  static bool blocks_entry(std::uint32_t state) { return (state & kWriter) != 0; }
  static bool queues(Cell cell) { return cell.writers_first(); }
  static constexpr std::uint32_t mark(Cell) { return 0; }
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
  static bool blocks_arrival(Cell cell, std::uint32_t state) {
    return state != 0 || (Gate::kFifo && Gate::is_held(cell));
  }
  static bool blocks_entry(std::uint32_t state) { return (state & (kWriter | kReaders)) != 0; }
  static constexpr bool queues(Cell) { return true; }
  static std::uint32_t mark(Cell cell) { return cell.writers_first() ? kWriterFirst : 0; }
  static bool is_inside(std::uint32_t state) { return (state & kWriter) != 0; }
  static std::uint32_t with_one(std::uint32_t) { return kWriter; }
  static std::uint32_t without_one(std::uint32_t state) { return state & ~(kWriter | kSleeps); }

  /// The calling thread's reader's side becomes this one, unless another reader is inside. The marks of who
  /// waits stay, above all kSleeps: the reason to sleep changes, and this writer's release wakes all.
  static bool try_upgrade(Cell cell) {
    std::uint32_t state = RwSide<Gate, WriteSide>::load(cell);
    do {
      if ((state & kReaders) != 1) return false;
    } while (!RwSide<Gate, WriteSide>::exchange(cell, state, (state & ~kReaders) | kWriter,
                                                std::memory_order_acquire));
    return true;
  }
};

}  // namespace elision::locks
