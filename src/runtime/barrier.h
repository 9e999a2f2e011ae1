// SPDX-License-Identifier: Apache-2.0
// pthread barriers and those of OpenMP teams, over a lock design. Where waiters speculate, process-private
// barriers are ours (locks/barrier.h); all others stay glibc's.
//
// glibc initialises our barriers too, which checks the arguments. The 32 bytes of a pthread_barrier_t cannot
// give the release word a line of its own, so a cell has our state, and a field that glibc does not use has
// the cell's number (runtime/overlay.h). As with glibc's barriers, pthread_barrier_destroy may be called when
// one thread has returned: it waits for the others to leave.
#pragma once

#include <cerrno>

#include "locks/designs.h"
#include "runtime/caller.h"
#include "runtime/glibc.h"
#include "runtime/numbered_cells.h"
#include "runtime/overlay.h"
#include "runtime/process.h"

namespace elision::runtime {

struct BarrierCell {
  locks::BarrierState state;
  unsigned total;
  std::atomic<std::uint32_t> next_free;
};
extern constinit NumberedCells<BarrierCell> barrier_cells;

/// pthread_barrier_init, under any design.
int init_barrier(pthread_barrier_t* raw, const pthread_barrierattr_t* attributes, unsigned count);

/// If barriers are not ours, teams use their runtime's.
inline int have_no_team_barrier(locks::BarrierState*, unsigned, const void*) { return EAGAIN; }
inline int have_no_team_to_move(locks::BarrierState*) { return 0; }

/// Designs that do not speculate: glibc's barriers, outside of transactions.
template <class Design, bool kSpeculates = Design::kSpeculates>
struct BarrierOf {
  static constexpr bool kOurs = false;
  static int wait(pthread_barrier_t* raw, const void* site) {
    Design::require_real_locks(this_thread.transaction);
    abi::ThreadActivity& activity = *known_thread().activity;
    activity.begin(abi::Activity::kBlocked, raw, site);
    const int result = glibc.barrier_wait(raw);
    activity.end();
    return result;
  }
  static int destroy(pthread_barrier_t* raw, const void*) { return glibc.barrier_destroy(raw); }
  static constexpr auto team_wait = have_no_team_barrier;
  static constexpr auto team_moves = have_no_team_to_move;
};

template <class Design>
struct BarrierOf<Design, true> {
  static constexpr bool kOurs = true;
  using Algorithm = typename Design::Barrier;
  using Passage = locks::Passage;

  static int wait(pthread_barrier_t* raw, const void* site) {
    if (Design::speculating()) return 0;
    Design::require_real_locks(this_thread.transaction);
    BarrierOverlay& overlay = overlay_of(raw);
    if (!overlay.is_ours()) return glibc.barrier_wait(raw);
    BarrierCell& cell = barrier_cells[overlay.cell];
    const CallerAt caller(raw, site);
    caller.activity().begin(abi::Activity::kBlocked);
    const Passage passage = Algorithm::wait(cell.state, cell.total, caller);
    if (passage == Passage::kSpeculating) return 0;
    caller.activity().end();
    Algorithm::depart(cell.state);
    return passage == Passage::kLast ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
  }

  static int destroy(pthread_barrier_t* raw, const void* site) {
    if (Design::speculating()) return 0;
    Design::require_real_locks(this_thread.transaction);
    BarrierOverlay& overlay = overlay_of(raw);
    if (!overlay.is_ours()) return glibc.barrier_destroy(raw);
    BarrierCell& cell = barrier_cells[overlay.cell];
    if (!Algorithm::await_departures(cell.state, cell.total))
      return refuse(Misuse::kDestroyOfHeld, raw, site, EBUSY);
    barrier_cells.give_back(overlay.disown());
    return glibc.barrier_destroy(raw);
  }

  /// EAGAIN: the team has moved to the barrier of its runtime.
  static int team_wait(locks::BarrierState* state, unsigned total, const void* site) {
    Design::require_real_locks(this_thread.transaction);
    // About a millisecond. libgomp's threads look 300,000 times (GOMP_SPINCOUNT), which takes between that
    // and 15 times as long, depending on PAUSE. With more threads than CPUs they hardly spin.
    constexpr std::uint32_t kPatience = 300000;
    const std::uint32_t spin_units = total <= process.cpus ? kPatience : locks::Park::kSpinUnits;
    const CallerAt caller(state, site);
    caller.activity().begin(abi::Activity::kBlocked);
    const Passage passage = Algorithm::wait(*state, total, caller, spin_units);
    if (passage != Passage::kSpeculating) caller.activity().end();
    return passage == Passage::kMoved ? EAGAIN : 0;
  }

  static int team_moves(locks::BarrierState* state) {
    Design::require_real_locks(this_thread.transaction);
    Algorithm::move_away(*state);
    return 0;
  }
};

}  // namespace elision::runtime
