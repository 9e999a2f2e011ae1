// SPDX-License-Identifier: Apache-2.0
// ticket-aahtm: a ticket lock whose waiters speculate when they come near the head of the queue (AAHTM
// paper, Fig. 5): at MIN_DIST <= distance < MAX_DIST, at most NUM_TRIES times each. What they prefetch is
// then still warm when they are served, and never many speculate at once.
//
// Inside the speculation lock operations succeed and do nothing, as in tatas_aahtm.h.
#pragma once

#include "locks/tatas_aahtm.h"
#include "locks/ticket.h"

namespace elision::locks {

template <htm::AlwaysAborting Htm, class Waiting>
struct TicketAahtm {
  using Plain = Ticket<Waiting>;

  /// Waits with a ticket that is not yet served, drawn by Plain::join(). Not to be called while speculating.
  static SpeculativeEntry wait(TicketState& state, std::uint32_t ticket, const Parameters& parameters,
                               Recorder recorder, const Deadline* deadline) {
    WaitClock clock;
    clock.start();
    recorder.busy();
    const bool may_speculate = parameters.min_distance < parameters.max_distance;
    for (std::uint32_t tries = 0, spun = 0; may_speculate && tries < parameters.tries;) {
      const std::uint32_t places = Plain::distance(state, ticket);
      if (places == 0 || places < parameters.min_distance) break;
      if (places < parameters.max_distance) {
        if (speculate<Htm>(recorder)) return SpeculativeEntry::kSpeculating;
        ++tries;
      } else if (!Waiting::spun_enough(spun)) {
        spun += Plain::pause_for(places);
      } else if (!Plain::sleep_until(state, ticket + 1 - parameters.max_distance, deadline)) {
        break;
      }
    }
    if (Plain::await(state, ticket, deadline) == Outcome::kTimedOut) return SpeculativeEntry::kTimedOut;
    recorder.acquired(clock.started_at());
    return SpeculativeEntry::kHolding;
  }
};

}  // namespace elision::locks
