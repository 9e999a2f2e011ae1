// SPDX-License-Identifier: Apache-2.0
// The always-abort barrier (AAHTM paper, III-D, Fig. 6): who waits runs ahead into the next phase inside a
// transaction that never commits, having read the release word, so that the release ends it; after NUM_TRIES
// of these it waits plainly.
//
//   release     bits 1-31: rounds that are over; bit 0: the threads have moved elsewhere (move_away)
//   arrivals    of all rounds. Arrival n, from 0, belongs to round n / total; the last of it ends it
//   departures  of those of the same threads that will not touch the barrier again
//   sleepers    that the end of a round must wake
//
// The paper's listing ends a round when fai(&awaited, -1) == 0. That means a fetch-and-add which yields the
// new value. Were it the old one, as the name says, `total` threads would see total..1 and none 0: all wait
// for ever; and with `awaited` begun at total - 1, to mend that, its listing still sets it to `total` at the
// end of the first round, and the second hangs. (With the new value and total - 1 the round ends one thread
// early.) The listing sets `awaited` anew before it releases; here arrivals are only counted on, so that more
// threads than `total` may use a barrier, as POSIX lets them: one that arrives before the round before is
// released already belongs to the next. The last ones of two rounds may release in either order: they add,
// and do not store.
//
// The release word has a line to itself, which arrivals do not touch (ibid.), and sleepers do not either: a
// thread that goes to sleep ends no speculation. Sleep they do in the end, however the locks wait: a barrier
// may have one thread more than there are CPUs, such as the one that started the others, and then a thread
// that spins keeps that thread from its CPU.
//
// Memory order: an arrival releases what its thread did before, to the last one, which releases it to all.
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
  kReleased,     // the last one has arrived
  kSpeculating,  // an always-abort transaction runs: nothing that follows will have happened
  kMoved,        // not at all: it has to go to the barrier that was moved to
};

template <htm::AlwaysAborting Htm>
class Barrier {
 public:
  /// `total` threads a round. After its speculations a thread looks for `spin_units` (waiting.h) before it
  /// sleeps. Not while speculating.
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

  /// Sends those who wait, and who come later, to another barrier. Called by a thread that has yet to arrive
  /// in the round under way, if there is one: so that round is not over, and nobody passes here by it.
  static void move_away(BarrierState& state) {
    if ((state.release.load(std::memory_order_relaxed) & kMoved) != 0) return;
    state.release.fetch_or(kMoved, std::memory_order_seq_cst);
    wake(state);
  }

  /// Of a thread that got past: it touches the barrier no more.
  static void depart(BarrierState& state) {
    const std::uint64_t before = state.departures.fetch_add(1, std::memory_order_release);
    if ((before & kAwaited) != 0) [[unlikely]]
      futex_wake(&state.departures, 1, kAnyBit);
  }

  /// Waits until all who got past have departed. False: some wait for others to arrive.
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
  /// A sleeper counts itself, then compares the word as it falls asleep; here the word comes first.
  static void wake(BarrierState& state) {
    if (state.sleepers.load(std::memory_order_seq_cst) != 0) futex_wake(&state.release, INT32_MAX, kAnyBit);
  }

  static bool is_over(std::uint32_t release, std::uint32_t goal) {
    return static_cast<std::int32_t>(release - goal) >= 0;  // the moved bit does not matter: goals are even
  }
  /// Released, or moved: there is nothing to wait for any more.
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
        // The subscription. What it finds may be older than the transaction.
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
