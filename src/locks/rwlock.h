// SPDX-License-Identifier: Apache-2.0
// A reader-writer lock as two locks on one word: the reader's side and the writer's side each speak the
// protocol of tatas.h, so that every design of this folder (plain, eliding, speculating) takes either.
//
//   state (the cell's word)
//     bits 0-27      readers inside; the caller sees to it that they do not overflow
//     kWriter        a writer is inside
//     kWriterFirst   the head is a writer, and arriving readers queue behind it (Cell::writers_first)
//     kHeadSleeps    the head sleeps on this word
//
// Threads that must wait take the gate, one after the other; whoever has it is the head and alone waits on
// the word: spinning, then asleep. A release that may let the head in wakes it.
//
// Invariants:
//  - kWriter and readers exclude each other: both are entered by compare-and-swap of the whole word only.
//  - The releasing compare-and-swap is the last touch of the lock (a wake-up uses its address alone).
//  - Without writers_first a reader waits for a writer inside and for nothing else: a thread that holds the
//    reader's side may take it again whoever waits (POSIX; glibc's default kind). With it, it may deadlock.
//  - The head takes kHeadSleeps and kWriterFirst away as it enters or gives up; a release takes kHeadSleeps.
//
// Gate: Tatas, or Ticket, whose queue makes those that wait FIFO; arriving writers then queue whenever
// anybody waits. Checked as a model: tests/models/rwlock.pml.
#pragma once

#include "locks/cell.h"
#include "locks/entry.h"
#include "locks/futex.h"
#include "locks/tatas.h"
#include "locks/ticket.h"
#include "locks/waiting.h"

namespace elision::locks {

inline constexpr std::uint32_t kReaders = (1u << 28) - 1;
inline constexpr std::uint32_t kWriterFirst = 1u << 28;
inline constexpr std::uint32_t kHeadSleeps = 1u << 29;
inline constexpr std::uint32_t kWriter = 1u << 30;

/// The gate of designs that are not FIFO.
template <class Waiting_>
struct TatasGate {
  using Waiting = Waiting_;
  static constexpr bool kFifo = false;
  static Outcome acquire(Cell cell, const Deadline* deadline) {
    return Tatas<Waiting>::acquire(*cell.gate, deadline);
  }
  static void release(Cell cell) { Tatas<Waiting>::release(*cell.gate); }
  static bool is_held(Cell cell) { return Tatas<Waiting>::is_held(*cell.gate); }
};

template <class Waiting_>
struct TicketGate {
  using Waiting = Waiting_;
  static constexpr bool kFifo = true;
  static Outcome acquire(Cell cell, const Deadline* deadline) {
    return Ticket<Waiting>::acquire(*cell.ticket, deadline);
  }
  static void release(Cell cell) { Ticket<Waiting>::release(*cell.ticket); }
  static bool is_held(Cell cell) { return Ticket<Waiting>::is_held(*cell.ticket); }
};

/// What both sides share. `Side` says what blocks it and what entering does to the state.
template <class Gate, class Side>
struct RwSide {
  using Waiting = typename Gate::Waiting;

  /// Whether a thread that arrives must wait.
  static bool is_held(Cell cell) { return Side::blocks_arrival(cell, load(cell)); }

  [[gnu::always_inline]] static bool try_acquire(Cell cell) {
    std::uint32_t state = load(cell);
    while (!Side::blocks_arrival(cell, state)) {
      if (exchange(cell, state, state + Side::kEntry, std::memory_order_acquire)) return true;
    }
    return false;
  }

  [[gnu::noinline]] static Outcome acquire(Cell cell, const Deadline* deadline) {
    if (Gate::acquire(cell, deadline) == Outcome::kTimedOut) return Outcome::kTimedOut;
    const Outcome outcome = enter_as_head(cell, deadline);
    Gate::release(cell);
    return outcome;
  }

  /// Queues until the side is free and does not enter. False: the deadline passed first.
  [[gnu::noinline]] static bool wait_until_free(Cell cell, const Deadline* deadline) {
    for (std::uint32_t spun = 0; !Waiting::spun_enough(spun); spun += pause_units(1)) {
      if (!is_held(cell)) return true;
      if (deadline != nullptr && deadline->has_passed()) return false;
    }
    if (Gate::acquire(cell, deadline) == Outcome::kTimedOut) return false;
    std::uint32_t state = load(cell);
    const bool in_time = await_as_head(cell, state, deadline);
    if (in_time && (state & (kWriterFirst | kHeadSleeps)) != 0) leave_head(cell, state);
    Gate::release(cell);
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
    if (((state ^ after) & kHeadSleeps) != 0) [[unlikely]]
      futex_wake(cell.word, 1, kAnyBit);
    return true;
  }

  static bool release_quietly(Cell cell) {
    const std::uint32_t state = load(cell);
    if (!Side::is_inside(state) || (state & kHeadSleeps) != 0) return false;
    cell.word->store(static_cast<int>(Side::without_one(state)), std::memory_order_release);
    return true;
  }

 private:
  static std::uint32_t load(Cell cell) {
    return static_cast<std::uint32_t>(cell.word->load(std::memory_order_relaxed));
  }
  [[gnu::always_inline]] static bool exchange(Cell cell, std::uint32_t& expected, std::uint32_t desired,
                                              std::memory_order order) {
    int seen = static_cast<int>(expected);
    const bool done =
        cell.word->compare_exchange_weak(seen, static_cast<int>(desired), order, std::memory_order_relaxed);
    expected = static_cast<std::uint32_t>(seen);
    return done;
  }

  static Outcome enter_as_head(Cell cell, const Deadline* deadline) {
    std::uint32_t state = load(cell);
    do {
      if (!await_as_head(cell, state, deadline)) return Outcome::kTimedOut;
    } while (!exchange(cell, state, (state & ~(kWriterFirst | kHeadSleeps)) + Side::kEntry,
                       std::memory_order_acquire));
    return Outcome::kAcquired;
  }

  /// Waits, holding the gate, until nothing inside blocks this side. `state` is what was seen last. False:
  /// the deadline passed first; then the word says nothing of a head any more.
  static bool await_as_head(Cell cell, std::uint32_t& state, const Deadline* deadline) {
    std::uint32_t spun = 0;
    for (; Side::blocks_head(state); state = load(cell)) {
      if (deadline != nullptr && deadline->has_passed()) {
        leave_head(cell, state);
        return false;
      }
      const std::uint32_t marked = state | Side::head_mark(cell);
      if (!Waiting::spun_enough(spun)) {
        if (marked != state) (void)exchange(cell, state, marked, std::memory_order_relaxed);
        spun += pause_units(1);
        continue;
      }
      if (!exchange(cell, state, marked | kHeadSleeps, std::memory_order_relaxed)) continue;
      futex_wait(cell.word, marked | kHeadSleeps, kAnyBit, deadline);
    }
    return true;
  }

  static void leave_head(Cell cell, std::uint32_t state) {
    while (!exchange(cell, state, state & ~(kWriterFirst | kHeadSleeps), std::memory_order_relaxed)) {
    }
  }
};

template <class Gate>
struct ReadSide : RwSide<Gate, ReadSide<Gate>> {
  static constexpr std::uint32_t kEntry = 1;
  static bool blocks_arrival(Cell, std::uint32_t state) {
    // kWriterFirst is set only where writers_first is.
    return (state & (kWriter | kWriterFirst)) != 0;
  }
  static bool blocks_head(std::uint32_t state) { return (state & kWriter) != 0; }
  static std::uint32_t head_mark(Cell) { return 0; }
  static bool is_inside(std::uint32_t state) { return (state & kReaders) != 0; }
  static std::uint32_t without_one(std::uint32_t state) {
    const std::uint32_t left = state - 1;
    return (left & kReaders) == 0 ? left & ~kHeadSleeps : left;
  }
};

template <class Gate>
struct WriteSide : RwSide<Gate, WriteSide<Gate>> {
  static constexpr std::uint32_t kEntry = kWriter;
  static bool blocks_arrival(Cell cell, std::uint32_t state) {
    return state != 0 || (Gate::kFifo && Gate::is_held(cell));
  }
  static bool blocks_head(std::uint32_t state) { return (state & (kWriter | kReaders)) != 0; }
  static std::uint32_t head_mark(Cell cell) { return cell.writers_first ? kWriterFirst : 0; }
  static bool is_inside(std::uint32_t state) { return (state & kWriter) != 0; }
  static std::uint32_t without_one(std::uint32_t state) { return state & ~(kWriter | kHeadSleeps); }
};

}  // namespace elision::locks
