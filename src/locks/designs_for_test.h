// SPDX-License-Identifier: Apache-2.0
// Every lock design behind one interface for the typed test suites: lock, try_lock, lock_until, unlock.
// Tests only.
#pragma once

#include "htm/always_abort.h"
#include "htm/none.h"
#include "htm/rtm.h"
#include "htm/scripted.h"
#include "locks/elided.h"
#include "locks/tatas_aahtm.h"
#include "locks/ticket_aahtm.h"

namespace elision::locks::test {

inline Parameters parameters() {
  return {.tries = 4,
          .max_distance = 4,
          .min_distance = 1,
          .busy_inside = false,
          .busy_counts = false,
          .abort_at_unlock = false};
}

/// What a thread brings along.
struct Thread {
  TransactionContext transaction;
  abi::CounterEntry counters;
  Parameters parameters = test::parameters();
  Recorder recorder() { return Recorder(counters, false); }
};

template <class Waiting_>
struct TatasLock {
  using Waiting = Waiting_;
  static constexpr bool kNeedsRtm = false;
  std::atomic<int> word{0};

  bool lock_until(Thread&, const Deadline* deadline) {
    return Tatas<Waiting>::acquire(word, deadline) == Outcome::kAcquired;
  }
  bool try_lock(Thread&) { return Tatas<Waiting>::try_acquire(word); }
  bool unlock(Thread&) { return Tatas<Waiting>::release(word); }
  bool is_free() const { return word == kFree; }
};

template <class Waiting_>
struct TicketLock {
  using Waiting = Waiting_;
  static constexpr bool kNeedsRtm = false;
  TicketState state{};

  bool lock_until(Thread&, const Deadline* deadline) {
    return Ticket<Waiting>::acquire(state, deadline) == Outcome::kAcquired;
  }
  bool try_lock(Thread&) { return Ticket<Waiting>::try_acquire(state); }
  bool unlock(Thread&) { return Ticket<Waiting>::release(state); }
  bool is_free() const { return !Ticket<Waiting>::is_held(state); }
};

template <class Htm, class Waiting_, bool kBusyInside = false,
          Subscription kSubscription = Subscription::kEarly>
struct ElidedLockDesign {
  using Waiting = Waiting_;
  using Lock = Elided<Htm, Waiting, kSubscription>;
  static constexpr bool kNeedsRtm = std::is_same_v<Htm, htm::Rtm>;
  std::atomic<int> word{0};

  bool lock_until(Thread& me, const Deadline* deadline) {
    me.parameters.busy_inside = kBusyInside;
    return Lock::enter(word, me.transaction, me.parameters, me.recorder(), deadline) != Entry::kTimedOut;
  }
  bool try_lock(Thread& me) {
    return Lock::try_enter(word, me.transaction, me.parameters, me.recorder()) != Entry::kBusy;
  }
  bool unlock(Thread& me) { return Lock::leave(word, me.transaction); }
  bool is_free() const { return word == kFree; }
};

template <class Htm, class Waiting_>
struct TatasAahtmLock {
  using Waiting = Waiting_;
  static constexpr bool kNeedsRtm = std::is_same_v<Htm, htm::NestedRtm>;
  std::atomic<int> word{0};

  bool lock_until(Thread& me, const Deadline* deadline) {
    if (Htm::in_always_abort()) return true;
    return TatasAahtm<Htm, Waiting>::enter(word, me.parameters, me.recorder(), deadline) !=
           SpeculativeEntry::kTimedOut;
  }
  bool try_lock(Thread&) { return Htm::in_always_abort() || Tatas<Waiting>::try_acquire(word); }
  bool unlock(Thread&) { return Htm::in_always_abort() || Tatas<Waiting>::release(word); }
  bool is_free() const { return word == kFree; }
};

template <class Htm, class Waiting_>
struct TicketAahtmLock {
  using Waiting = Waiting_;
  static constexpr bool kNeedsRtm = std::is_same_v<Htm, htm::NestedRtm>;
  TicketState state{};

  bool lock_until(Thread& me, const Deadline* deadline) {
    if (Htm::in_always_abort()) return true;
    std::uint32_t ticket;
    if (!Ticket<Waiting>::join(state, deadline, ticket)) return false;
    if (Ticket<Waiting>::distance(state, ticket) == 0) return true;
    return TicketAahtm<Htm, Waiting>::wait(state, ticket, me.parameters, me.recorder(), deadline) !=
           SpeculativeEntry::kTimedOut;
  }
  bool try_lock(Thread&) { return Htm::in_always_abort() || Ticket<Waiting>::try_acquire(state); }
  bool unlock(Thread&) { return Htm::in_always_abort() || Ticket<Waiting>::release(state); }
  bool is_free() const { return !Ticket<Waiting>::is_held(state); }
};

}  // namespace elision::locks::test
