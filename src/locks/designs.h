// SPDX-License-Identifier: Apache-2.0
// The lock designs: compositions of a protocol on words (tatas.h, ticket.h, rwlock.h, spin_word.h), a way to
// wait for it (plain_wait.h, speculating_wait.h, priority_wait.h, ticket_wait.h) and elision over both
// (elided.h).
//
// Every design answers the same questions:
//   enter(words, caller, deadline, attempt)
//                                         -> Entry. Makes the first attempt, unless `attempt` was made
//   try_enter(words, caller)              -> Entry
//   Attempt                               -> the outcome of a thread's first attempt. Default: none was made,
//                                            and was_made() is false
//   may_attempt(words)                    -> whether attempt() may be called
//   attempt(words, me, parameters, attempt)
//                                         -> the first attempt, without a stack frame, for callers to inline.
//                                            Not while speculating or in a transaction. With kElides, `me`
//                                            must name the counters. True: inside, but not counted. False:
//                                            enter() must follow
//   attempt_once(words, me, attempt), attempt_again(words, me, parameters, attempt)
//                                         -> with kElides: attempt() in two steps. The second is for a
//                                         function
//                                            of its own, since it needs a stack frame
//   leave_quickly(words, me)              -> the common way out. True: left, because the thread's transaction
//                                            elided this lock alone, or because nobody sleeps for it. False:
//                                            nothing was done, call leave()
//   leave(words, me)                      -> false: the lock was not held
//   is_held(words)
//   elided_entry(words, me)               -> the record, if the calling thread's transaction elides this lock
//   speculating()                         -> true inside an always-abort transaction, where every operation
//                                            succeeds and does nothing; a trylock may report the lock as held
//   require_real_locks(me)                -> ends the transaction, because what follows cannot run in one.
//                                            Returns outside of transactions
//   kSpeculates, Barrier                  -> whether waiting threads speculate, and their barrier (barrier.h)
// and names the matching designs for other words: OnSpinWord (pthread_spinlock_t), ReaderSide and WriterSide
// (pthread_rwlock_t).
#pragma once

#include "locks/auxiliary_queue.h"
#include "locks/barrier.h"
#include "locks/elided.h"
#include "locks/priority_wait.h"
#include "locks/rwlock.h"
#include "locks/speculating_wait.h"
#include "locks/spin_word.h"
#include "locks/tatas.h"
#include "locks/ticket.h"
#include "locks/ticket_wait.h"

namespace elision::locks {

// ---- How threads wait.

struct Plainly {
  template <class Lock>
  using Wait = PlainWait<Lock>;
  template <class Waiting>
  using TicketWait = PlainTicketWait<Waiting>;
  using WithoutPriority = Plainly;
  static constexpr bool kSpeculates = false;

  static bool speculating() { return false; }
  static void end_speculation() {}
};

template <htm::AlwaysAborting Htm>
struct Speculating {
  template <class Lock>
  using Wait = SpeculatingWait<Htm, Lock>;
  template <class Waiting>
  using TicketWait = SpeculatingTicketWait<Htm, Waiting>;
  using WithoutPriority = Speculating;
  static constexpr bool kSpeculates = true;
  using Barrier = locks::Barrier<Htm>;

  static bool speculating() { return Htm::in_always_abort(); }
  /// As locks::speculate.
  [[gnu::always_inline]] static bool speculate(const Recorder& recorder, const ActivityAt& activity) {
    return locks::speculate<Htm>(recorder, activity);
  }
  static void end_speculation() {
    if (Htm::in_always_abort()) (void)Htm::template abort<htm::kCodeGiveUp>();
  }
};

template <htm::AlwaysAborting Htm>
struct SpeculatingWithPriority : Speculating<Htm> {
  template <class Lock>
  using Wait = PriorityWait<Htm, Lock>;
};

// ---- The designs.

/// A lock on one word: tatas, tts, tatas-aahtm, tatas-pri-aahtm; spin locks and both sides of reader-writer
/// locks too.
template <class Lock_, class How>
struct WordDesign : How {
  using Lock = Lock_;
  using Waiting = typename Lock::Waiting;
  using Wait = typename How::template Wait<Lock>;
  using OtherHow = typename How::WithoutPriority;  // only mutexes have `warm`
  using OnSpinWord = WordDesign<SpinWord<Waiting>, OtherHow>;
  using ReaderSide = WordDesign<ReadSide<TatasGate<Waiting>>, OtherHow>;
  using WriterSide = WordDesign<WriteSide<TatasGate<Waiting>>, OtherHow>;
  static constexpr bool kGlibcMayLock = Waiting::kSleeps;  // if Lock uses glibc's mutex protocol

  static bool is_held(LockWords words) { return Lock::is_held(words); }

  template <Caller C>
  static Entry try_enter(LockWords words, C caller) {
    if (!PlainWait<Lock>::try_first(words)) return Entry::kBusy;
    caller.took();
    return Entry::kHolding;
  }

  struct Attempt {
    bool made = false;
    bool was_made() const { return made; }
  };
  static bool may_attempt(LockWords) { return true; }
  [[gnu::always_inline]] static bool attempt(LockWords words, TransactionContext&, const Parameters&,
                                             Attempt& attempt) {
    attempt.made = true;
    return Wait::try_first(words);
  }

  template <Caller C>
  static Entry enter(LockWords words, C caller, const Deadline* deadline, Attempt attempt = {}) {
    if (!attempt.was_made() && Wait::try_first(words)) {
      caller.took();
      return Entry::kHolding;
    }
    WaitClock clock;
    return Wait::enter(words, caller, clock, deadline);
  }

  static constexpr bool kElides = false;
  static bool leave_quickly(LockWords, TransactionContext&) { return false; }
  static bool leave(LockWords words, TransactionContext&) { return Lock::release(words); }

  static ElidedLock* elided_entry(LockWords, TransactionContext&) { return nullptr; }
  static void require_real_locks(const TransactionContext&) { How::end_speculation(); }
};

/// ticket, ticket-aahtm.
template <class Waiting_, class How>
struct TicketDesign : How {
  using Waiting = Waiting_;
  using Lock = Ticket<Waiting>;
  using OnSpinWord = WordDesign<SpinWord<Waiting>, How>;
  using ReaderSide = WordDesign<ReadSide<TicketGate<Waiting>>, How>;
  using WriterSide = WordDesign<WriteSide<TicketGate<Waiting>>, How>;
  static constexpr bool kGlibcMayLock = false;

  static bool is_held(LockWords words) { return Lock::is_held(words.ticket()); }

  template <Caller C>
  static Entry try_enter(LockWords words, C caller) {
    if (!Lock::try_acquire(words.ticket())) return Entry::kBusy;
    caller.took();
    return Entry::kHolding;
  }

  struct Attempt {
    std::int64_t drawn = -1;  // the ticket, of 32 bits
    bool was_made() const { return drawn >= 0; }
  };
  static bool may_attempt(LockWords words) { return Lock::is_adopted(words.ticket()); }
  [[gnu::always_inline]] static bool attempt(LockWords words, TransactionContext&, const Parameters&,
                                             Attempt& attempt) {
    const std::uint32_t ticket = Lock::draw(words.ticket());
    attempt.drawn = ticket;
    return Lock::distance(words.ticket(), ticket) == 0;
  }

  template <Caller C>
  static Entry enter(LockWords words, C caller, const Deadline* deadline, Attempt attempt = {}) {
    TicketState& queue = words.ticket();
    auto ticket = static_cast<std::uint32_t>(attempt.drawn);
    if (!attempt.was_made()) {
      if (!Lock::join(queue, deadline, ticket)) return gave_up(caller);
      if (Lock::distance(queue, ticket) == 0) {
        caller.took();
        return Entry::kHolding;
      }
    }
    return How::template TicketWait<Waiting>::enter(queue, ticket, caller, deadline);
  }

  static constexpr bool kElides = false;
  [[gnu::always_inline]] static bool leave_quickly(LockWords words, TransactionContext&) {
    return Lock::is_adopted(words.ticket()) && Lock::release_plainly(words.ticket());
  }
  static bool leave(LockWords words, TransactionContext&) { return Lock::release(words.ticket()); }

  static ElidedLock* elided_entry(LockWords, TransactionContext&) { return nullptr; }
  static void require_real_locks(const TransactionContext&) { How::end_speculation(); }
};

/// htm-N, ttstle, hle-scm, htm-N-fb-aahtm. kWrites: whether this side writes (ElidedLock).
template <htm::Transactional Htm, class Lock_, class How, class Contention = NoContentionControl,
          Subscription kSubscription = Subscription::kEarly, bool kWrites = true>
struct ElidedDesign : How {
  using Lock = Lock_;
  using Waiting = typename Lock::Waiting;
  using Algorithm = Elided<Htm, Lock, typename How::template Wait<Lock>, Contention, kSubscription>;
  template <class Other, bool kOtherWrites>
  using On = ElidedDesign<Htm, Other, How, Contention, kSubscription, kOtherWrites>;
  using OnSpinWord = On<SpinWord<Waiting>, true>;
  using ReaderSide = On<ReadSide<TatasGate<Waiting>>, false>;
  using WriterSide = On<WriteSide<TatasGate<Waiting>>, true>;
  static constexpr bool kGlibcMayLock = Waiting::kSleeps;

  static bool is_held(LockWords words) { return Lock::is_held(words); }

  using Attempt = typename Algorithm::Attempt;
  static bool may_attempt(LockWords words) { return Algorithm::may_attempt(words); }
  [[gnu::always_inline]] static bool attempt(LockWords words, TransactionContext& me,
                                             const Parameters& parameters, Attempt& attempt) {
    attempt = Algorithm::attempt(words, me, parameters, kWrites);
    return attempt.status.started();
  }
  [[gnu::always_inline]] static bool attempt_once(LockWords words, TransactionContext& me, Attempt& attempt) {
    attempt = Algorithm::attempt_once(words, me, kWrites);
    return attempt.status.started();
  }
  [[gnu::always_inline]] static bool attempt_again(LockWords words, TransactionContext& me,
                                                   const Parameters& parameters, Attempt& attempt) {
    Algorithm::attempt_again(attempt, words, me, parameters, kWrites);
    return attempt.status.started();
  }

  template <Caller C>
  [[gnu::always_inline]] static Entry enter(LockWords words, C caller, const Deadline* deadline,
                                            Attempt attempt = {}) {
    if (caller.transaction().inside()) [[unlikely]]
      return Algorithm::enter_further(words, caller.transaction(), kWrites);
    return Algorithm::enter(words, caller, deadline, kWrites, attempt);
  }
  template <Caller C>
  static Entry try_enter(LockWords words, C caller) {
    if (caller.transaction().inside())
      return Algorithm::try_enter_further(words, caller.transaction(), kWrites);
    return Algorithm::try_enter(words, caller, kWrites);
  }
  static constexpr bool kElides = true;
  static bool leave_quickly(LockWords words, TransactionContext& me) {
    return Algorithm::leave_quickly(words, me);
  }
  static bool leave(LockWords words, TransactionContext& me) { return Algorithm::leave(words, me); }

  static ElidedLock* elided_entry(LockWords words, TransactionContext& me) { return me.find(words.word); }
  static void require_real_locks(const TransactionContext& me) {
    How::end_speculation();
    Algorithm::require_real_locks(me);
  }
};

}  // namespace elision::locks
