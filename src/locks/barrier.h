// SPDX-License-Identifier: Apache-2.0
// The always-abort barrier (AAHTM paper, III-D, Fig. 6). A waiter runs ahead into the next phase inside a
// transaction that never commits. The transaction has read the release word, so the release aborts it. After
// NUM_TRIES of these the thread waits plainly.
//
//   release     bits 1-31: rounds that are over; bit 0: the threads have moved elsewhere (move_away)
//   arrivals    of all rounds. Arrival n, from 0, belongs to round n / total; its last arrival ends the round
//   departures  threads that have passed and will not touch the barrier again
//   sleepers    threads that the end of a round must wake
//
// The paper's listing ends a round when fai(&awaited, -1) == 0, where fai must return the new value. If it
// returned the old one, as the name says, `total` threads would see total..1, none would see 0, and all would
// wait for ever. Starting `awaited` at total - 1 does not help: the listing sets it to `total` at the end of
// the first round, and the second round hangs. (With the new value and total - 1 the round ends one thread
// early.)
//
// The listing resets `awaited` before it releases. Here arrivals count up for ever, so that more threads than
// `total` may use a barrier, as POSIX allows: a thread that arrives before the previous round is released
// already belongs to the next one. The last threads of two rounds may release in either order, since they add
// to the word and do not store.
//
// The release word has a cache line to itself. Neither arrivals (ibid.) nor sleepers write that line, so a
// thread that goes to sleep aborts no speculation. A thread sleeps after a while even if locks spin for ever:
// a barrier may have one thread more than there are CPUs, such as the thread that started the others, and a
// spinning thread would keep it from running.
//
// Memory order: an arrival releases its thread's stores to the last arrival, which releases them to all.
#pragma once

#include <atomic>
#include <cstdint>

#include "htm/backend.h"
#include "locks/entry.h"
#include "locks/futex.h"
#include "locks/waiting.h"

namespace elision::locks {

struct BarrierState {
  alignas(64) std::atomic<std::uint32_t> release;
  alignas(64) std::atomic<std::uint64_t> arrivals;
  std::atomic<std::uint64_t> departures;
  std::atomic<std::uint32_t> sleepers;
};
static_assert(sizeof(BarrierState) == 128);

/// How a thread gets past a barrier.
enum class Passage {
  kLast,         // it was the last to arrive
  kReleased,     // the last thread has arrived
  kSpeculating,  // an always-abort transaction runs: everything that follows will be undone
  kMoved,        // it did not: it must go to the barrier that the threads moved to
};

template <htm::AlwaysAborting Htm>
class Barrier {
 public:
  /// `total`: threads per round. After its speculations a thread spins for `spin_units` (waiting.h) and then
  /// sleeps. Must not be called while speculating.
  template <Caller C>
  static Passage wait(BarrierState& state, std::uint32_t total, C caller,
                      std::uint32_t spin_units = Park::kSpinUnits) {
    if ((state.release.load(std::memory_order_acquire) & kMoved) != 0) return Passage::kMoved;
    const std::uint64_t number = state.arrivals.fetch_add(1, std::memory_order_acq_rel);
    const auto round = static_cast<std::uint32_t>(number / total);
    if (number % total == total - 1) {
      end_round(state);
      return Passage::kLast;
    }
    return await(state, 2 * (round + 1), caller, spin_units);
  }

  /// Sends waiters and later arrivals to another barrier. The caller has not yet arrived in the current
  /// round, so that round cannot end here.
  static void move_away(BarrierState& state) {
    if ((state.release.load(std::memory_order_relaxed) & kMoved) != 0) return;
    state.release.fetch_or(kMoved, std::memory_order_seq_cst);
    wake(state);
  }

  /// The calling thread has passed and does not touch the barrier again.
  static void depart(BarrierState& state) {
    const std::uint64_t before = state.departures.fetch_add(1, std::memory_order_release);
    if ((before & kAwaited) != 0) [[unlikely]]
      futex_wake(&state.departures, 1, kAnyBit);
  }

  /// Waits until all threads that passed have departed. False: threads still wait for others to arrive.
  static bool await_departures(BarrierState& state, std::uint32_t total) {
    const std::uint64_t arrived = state.arrivals.load(std::memory_order_relaxed);
    if (arrived % total != 0) return false;
    std::uint64_t departed;
    for (std::uint32_t spun = 0; (departed = load_departures(state)) != arrived;) {
      if (!Park::spun_enough(spun)) {
        spun += pause_units(1);
        continue;
      }
      departed = state.departures.fetch_or(kAwaited, std::memory_order_acquire) & ~kAwaited;
      if (departed != arrived)
        futex_wait(&state.departures, static_cast<std::uint32_t>(departed), kAnyBit, nullptr);
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kMoved = 1;
  static constexpr std::uint64_t kAwaited = std::uint64_t{1} << 63;

  static std::uint64_t load_departures(const BarrierState& state) {
    return state.departures.load(std::memory_order_acquire) & ~kAwaited;
  }

  static void end_round(BarrierState& state) {
    state.release.fetch_add(2, std::memory_order_seq_cst);
    wake(state);
  }
  /// A sleeper counts itself first and compares the word second; the waker writes the word first.
  static void wake(BarrierState& state) {
    if (state.sleepers.load(std::memory_order_seq_cst) != 0) futex_wake(&state.release, INT32_MAX, kAnyBit);
  }

  static bool is_over(std::uint32_t release, std::uint32_t goal) {
    return static_cast<std::int32_t>(release - goal) >= 0;  // the moved bit does not matter: goals are even
  }
  /// Released or moved: there is nothing left to wait for.
  static bool goes_on(const BarrierState& state, std::uint32_t goal) {
    const std::uint32_t release = state.release.load(std::memory_order_acquire);
    return is_over(release, goal) || (release & kMoved) != 0;
  }

  template <Caller C>
  static Passage await(BarrierState& state, std::uint32_t goal, C caller, std::uint32_t spin_units) {
    for (std::uint32_t tries = 0; !goes_on(state, goal); ++tries) {
      if (tries == caller.parameters().speculation_tries) {
        await_plainly(state, goal, spin_units);
        break;
      }
      const Recorder recorder = caller.recorder();
      recorder.speculation();
      htm::Status status = Htm::begin_always_abort();
      if (status.started()) {
        // The subscription. The release may have come before the transaction began.
        if (!goes_on(state, goal)) return Passage::kSpeculating;
        status = Htm::template abort<htm::kCodeLockBusy>();
      }
      recorder.abort(status.cause());
    }
    return is_over(state.release.load(std::memory_order_acquire), goal) ? Passage::kReleased
                                                                        : Passage::kMoved;
  }

  [[gnu::noinline]] static void await_plainly(BarrierState& state, std::uint32_t goal,
                                              std::uint32_t spin_units) {
    for (std::uint32_t spun = 0; spun < spin_units; spun += pause_units(1)) {
      if (goes_on(state, goal)) return;
    }
    state.sleepers.fetch_add(1, std::memory_order_seq_cst);
    while (true) {
      const std::uint32_t seen = state.release.load(std::memory_order_acquire);
      if (is_over(seen, goal) || (seen & kMoved) != 0) break;
      futex_wait(&state.release, seen, kAnyBit, nullptr);
    }
    state.sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
};

}  // namespace elision::locks
