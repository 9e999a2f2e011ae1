// SPDX-License-Identifier: Apache-2.0
// Two ways to wait in a ticket lock's queue: plainly, or speculating near the head. The second is
// ticket-aahtm (AAHTM paper, Fig. 5): a thread at MIN_DIST <= distance < MAX_DIST speculates at most
// NUM_TRIES times. So prefetched lines are still warm when its ticket is served, and few threads speculate at
// a time.
//
// The code of the paper's authors reads now_serving inside the transaction too (Parameters::subscribes): then
// every hand-over ends every speculation. It also pauses after each abort (Parameters::pauses).
//
// Both need a ticket that Ticket::join() drew and that is not yet served. Inside a speculation lock
// operations succeed and do nothing, as in speculating_wait.h.
#pragma once

#include "locks/speculating_wait.h"
#include "locks/ticket.h"

namespace elision::locks {

template <class Waiting>
struct PlainTicketWait {
  template <Caller C>
  static Entry enter(TicketState& state, std::uint32_t ticket, C caller, const Deadline* deadline) {
    WaitClock clock;
    clock.start();
    caller.activity().begin(abi::Activity::kWaiting);
    const Recorder recorder = caller.recorder();
    recorder.busy();
    TicketPlace place{state, ticket, true};
    const IfLeft if_left(&Ticket<Waiting>::leave, &place);
    if (Ticket<Waiting>::await(place, deadline) == Outcome::kTimedOut) return gave_up(caller);
    return took_after_wait(caller, recorder, clock);
  }
};

template <htm::AlwaysAborting Htm, class Waiting>
struct SpeculatingTicketWait {
  using Plain = Ticket<Waiting>;

  template <Caller C>
  static Entry enter(TicketState& state, std::uint32_t ticket, C caller, const Deadline* deadline) {
    WaitClock clock;
    clock.start();
    caller.activity().begin(abi::Activity::kWaiting);
    const Recorder recorder = caller.recorder();
    const Parameters& parameters = caller.parameters();
    recorder.busy();
    TicketPlace place{state, ticket, true};
    const IfLeft if_left(&Plain::leave, &place);
    SpinDeadline until(deadline);
    const bool subscribes = parameters.subscribes;
    const bool may_speculate = parameters.min_distance < parameters.max_distance;
    for (std::uint32_t tries = 0, spun = 0; may_speculate && tries < parameters.speculation_tries;) {
      const std::uint32_t places = Plain::distance(state, ticket);
      if (places == 0 || places < parameters.min_distance) break;
      if (places < parameters.max_distance) {
        const auto is_served = [&] { return subscribes && Plain::distance(state, ticket) == 0; };
        if (speculate<Htm>(recorder, caller.activity(), is_served)) return Entry::kSpeculating;
        ++tries;
        if (parameters.pauses == 0) continue;
        spun += pause_units(parameters.pauses);
        if (until.has_passed(spun)) break;
      } else if (until.has_passed(spun)) {
        break;  // await() gives up the ticket
      } else if (!Waiting::spun_enough(spun)) {
        spun += Plain::pause_for(places);
      } else if (!Plain::sleep_until(place, ticket + 1 - parameters.max_distance, deadline)) {
        break;
      }
    }
    if (Plain::await(place, deadline) == Outcome::kTimedOut) return gave_up(caller);
    return took_after_wait(caller, recorder, clock);
  }
};

}  // namespace elision::locks
