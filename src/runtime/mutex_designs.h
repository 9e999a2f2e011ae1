// SPDX-License-Identifier: Apache-2.0
// The lock designs as the layer of mutex types (mutex.h) sees them: enter, try, leave, on the overlay
// of a mutex, with the calling thread's state and counters.
//
// Every design answers the same questions:
//   enter / try_enter   -> Entry (locks/elided.h)
//   leave               -> false: it was not held
//   pretends(mutex)     -> the calling thread's transaction elides this mutex
//   speculating()       -> inside an always-abort transaction: every operation succeeds and does nothing
//   require_real_locks  -> what follows cannot run in a transaction: end it, and be back outside
#pragma once

#include <cerrno>

#include "locks/elided.h"
#include "locks/tatas_aahtm.h"
#include "locks/ticket.h"
#include "locks/ticket_aahtm.h"
#include "runtime/overlay.h"
#include "runtime/process.h"
#include "runtime/thread_state.h"

namespace elision::runtime {

using locks::Deadline;
using locks::Entry;
using locks::Outcome;

/// For designs without transactions that commit.
struct WithoutElision {
  static bool pretends(MutexOverlay&) { return false; }
  static void elided_again(MutexOverlay&) {}
};

/// For designs that never speculate.
struct WithoutSpeculation {
  static bool speculating() { return false; }
  static void end_speculation_at_unlock() {}
};

template <class Htm>
struct WithSpeculation {
  static bool speculating() { return Htm::in_always_abort(); }
  static void end_speculation_at_unlock() {
    if (process.configuration.parameters.abort_at_unlock) (void)Htm::template abort<htm::kCodeGiveUp>();
  }
  static void end_speculation() {
    if (Htm::in_always_abort()) (void)Htm::template abort<htm::kCodeGiveUp>();
  }
  static Entry as_entry(locks::SpeculativeEntry entry) {
    switch (entry) {
      case locks::SpeculativeEntry::kTimedOut:
        return Entry::kTimedOut;
      case locks::SpeculativeEntry::kSpeculating:
        return Entry::kElided;
      case locks::SpeculativeEntry::kHolding:
        break;
    }
    return Entry::kHolding;
  }
};

/// Where the state is glibc's word.
template <class Waiting>
struct OnGlibcWord : WithoutElision {
  using Lock = locks::Tatas<Waiting>;
  static constexpr bool kGlibcMayLock = true;

  static bool is_held(MutexOverlay& mutex) { return Lock::is_held(mutex.word); }
  static Entry try_enter(MutexOverlay& mutex, const void*) {
    if (is_held(mutex) || !Lock::try_acquire(mutex.word)) return Entry::kBusy;
    count_uncontended(known_thread());
    return Entry::kHolding;
  }
  static bool leave(MutexOverlay& mutex) { return Lock::release(mutex.word); }
};

template <class Waiting>
struct TatasDesign : OnGlibcWord<Waiting>, WithoutSpeculation {
  using Base = OnGlibcWord<Waiting>;

  static Entry enter(MutexOverlay& mutex, const void* site, const Deadline* deadline) {
    if (Base::try_enter(mutex, site) == Entry::kHolding) return Entry::kHolding;
    const locks::Recorder recorder = recorder_for(known_thread(), &mutex, site);
    locks::WaitClock clock;
    clock.start();
    recorder.busy();
    if (Base::Lock::acquire(mutex.word, deadline) == Outcome::kTimedOut) return Entry::kTimedOut;
    recorder.acquired(clock.started_at());
    return Entry::kHolding;
  }
  static void require_real_locks() {}
};

template <class Htm, class Waiting>
struct TatasAahtmDesign : OnGlibcWord<Waiting>, WithSpeculation<Htm> {
  using Base = OnGlibcWord<Waiting>;

  static Entry enter(MutexOverlay& mutex, const void* site, const Deadline* deadline) {
    if (Base::try_enter(mutex, site) == Entry::kHolding) return Entry::kHolding;
    return WithSpeculation<Htm>::as_entry(locks::TatasAahtm<Htm, Waiting>::enter(
        mutex.word, process.configuration.parameters, recorder_for(known_thread(), &mutex, site), deadline));
  }
  static void require_real_locks() { WithSpeculation<Htm>::end_speculation(); }
};

template <class Htm, class Waiting, locks::Subscription kSubscription>
struct ElidedDesign : WithoutSpeculation {
  using Lock = locks::Elided<Htm, Waiting, kSubscription>;
  static constexpr bool kGlibcMayLock = true;

  static bool is_held(MutexOverlay& mutex) { return Lock::Fallback::is_held(mutex.word); }
  static Entry enter(MutexOverlay& mutex, const void* site, const Deadline* deadline) {
    ThreadState& thread = known_thread();
    if (thread.transaction.inside()) return Lock::enter_further(mutex.word, thread.transaction);
    return Lock::enter(mutex.word, thread.transaction, process.configuration.parameters,
                       recorder_for(thread, &mutex, site), deadline);
  }
  static Entry try_enter(MutexOverlay& mutex, const void* site) {
    ThreadState& thread = known_thread();
    if (thread.transaction.inside()) return Lock::try_enter_further(mutex.word, thread.transaction);
    return Lock::try_enter(mutex.word, thread.transaction, process.configuration.parameters,
                           recorder_for(thread, &mutex, site));
  }
  static bool leave(MutexOverlay& mutex) { return Lock::leave(mutex.word, this_thread.transaction); }
  static bool pretends(MutexOverlay& mutex) { return this_thread.transaction.find(&mutex.word) != nullptr; }
  static void elided_again(MutexOverlay& mutex) { ++this_thread.transaction.find(&mutex.word)->depth; }
  static void require_real_locks() { Lock::require_real_locks(this_thread.transaction); }
};

/// Where the state is the ticket lock's: glibc must not touch such a mutex.
template <class Waiting>
struct OnTickets : WithoutElision {
  using Lock = locks::Ticket<Waiting>;
  static constexpr bool kGlibcMayLock = false;

  static bool is_held(MutexOverlay& mutex) { return Lock::is_held(mutex.ticket); }
  static Entry try_enter(MutexOverlay& mutex, const void*) {
    if (!Lock::try_acquire(mutex.ticket)) return Entry::kBusy;
    count_uncontended(known_thread());
    return Entry::kHolding;
  }
  static bool leave(MutexOverlay& mutex) { return Lock::release(mutex.ticket); }

 protected:
  /// Draws a ticket and, if it is not served at once, leaves the waiting to `wait(ticket)`.
  template <class Wait>
  static Entry enter_by_ticket(MutexOverlay& mutex, const Deadline* deadline, Wait wait) {
    std::uint32_t ticket;
    if (!Lock::join(mutex.ticket, deadline, ticket)) return Entry::kTimedOut;
    if (Lock::distance(mutex.ticket, ticket) != 0) return wait(ticket);
    count_uncontended(known_thread());
    return Entry::kHolding;
  }
};

template <class Waiting>
struct TicketDesign : OnTickets<Waiting>, WithoutSpeculation {
  using Base = OnTickets<Waiting>;

  static Entry enter(MutexOverlay& mutex, const void* site, const Deadline* deadline) {
    return Base::enter_by_ticket(mutex, deadline, [&](std::uint32_t ticket) {
      const locks::Recorder recorder = recorder_for(known_thread(), &mutex, site);
      locks::WaitClock clock;
      clock.start();
      recorder.busy();
      if (Base::Lock::await(mutex.ticket, ticket, deadline) == Outcome::kTimedOut) return Entry::kTimedOut;
      recorder.acquired(clock.started_at());
      return Entry::kHolding;
    });
  }
  static void require_real_locks() {}
};

template <class Htm, class Waiting>
struct TicketAahtmDesign : OnTickets<Waiting>, WithSpeculation<Htm> {
  using Base = OnTickets<Waiting>;

  static Entry enter(MutexOverlay& mutex, const void* site, const Deadline* deadline) {
    return Base::enter_by_ticket(mutex, deadline, [&](std::uint32_t ticket) {
      return WithSpeculation<Htm>::as_entry(
          locks::TicketAahtm<Htm, Waiting>::wait(mutex.ticket, ticket, process.configuration.parameters,
                                                 recorder_for(known_thread(), &mutex, site), deadline));
    });
  }
  static void require_real_locks() { WithSpeculation<Htm>::end_speculation(); }
};

}  // namespace elision::runtime
