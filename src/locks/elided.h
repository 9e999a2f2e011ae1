// SPDX-License-Identifier: Apache-2.0
// htm-N: the critical section as a transaction, tried N times, over a lock as fallback (AAHTM paper, IV-A,
// "htm-1, htm-10").
//
// Invariants:
//  - Early subscription: the transaction reads the lock word before anything of the section, so a
//    thread that takes the lock aborts it, and it never runs beside a holder.
//  - A held lock alone never leads to the fallback (the lemming effect, ibid.), unless Busy::kFallBack or
//    Busy::kAbort asks for it. Either the thread waits until the lock is free before it begins, or, as in the
//    paper, it begins and loops inside the transaction, without PAUSE (which aborts), until the holder's
//    release aborts it.
//  - Locks that are taken inside the transaction are subscribed to as well. The transaction commits when the
//    last of them is released, in any order. Deferred wakes (condition.h) follow the commit.
//  - A process with one thread elides nothing (alone.h).
//
// The first kTriesAtOnce tries follow each other without back-off, unless Parameters::backs_off asks for the
// paper's back-off. On the virtual Broadwell that back-off costs a map or a hash table up to a fifth of its
// throughput; docs/measured/elision-compared.md compares with locks that never back off. Later tries back
// off: sections that always conflict, tried ten times at once, reached 0.4 of a mutex's throughput, and now
// reach nearly all of it (docs/measured/lock-costs.md, mutex 200ns).
//
// Busy::kInside: the holder's release aborts the loop with the same status as any conflict. To tell them
// apart, a thread loops inside only if it saw the lock held just before it began, and counts the abort of
// such a transaction as the end of its wait. If the lock is taken between the look and the begin, the
// transaction ends by our own XABORT, and the next one loops.
//
// Busy::kAbort: no look before the transaction leads to a wait. The code of the paper's authors loops inside
// with a PAUSE, which aborts at once; here an XABORT does, so that the abort is counted as what it is.
//
// `Lock` is the protocol on the words (tatas.h, spin_word.h, a side of rwlock.h), `Fallback` the way to wait
// for it (plain_wait.h and its like), `Contention` the reaction to conflicts (none, or auxiliary_queue.h).
#pragma once

#include "htm/backend.h"
#include "locks/alone.h"
#include "locks/condition.h"
#include "locks/entry.h"
#include "locks/futex.h"
#include "locks/if_left.h"

namespace elision::locks {

/// No section is elided while this is 0. The library exports it so that a debugger can set it in a running
/// process ("set var elision_transactions = 0"). An environment variable gives the initial value
/// (abi/lock_variables.h).
extern "C" {
[[gnu::visibility("default")]] inline constinit int elision_transactions = 1;
}

/// kRemoved is for tests that must fail: without subscription, updates are lost.
enum class Subscription { kEarly, kRemoved };

/// After a conflict a thread just tries again.
struct NoContentionControl {
  static constexpr bool kWaits = false;
  static bool after_conflict(LockWords, TransactionContext&, const Deadline*) { return true; }
  static void finished(TransactionContext&) {}
  static void left(TransactionContext&) {}
};

template <htm::Transactional Htm, class Lock, class Fallback, class Contention = NoContentionControl,
          Subscription kSubscription = Subscription::kEarly>
class Elided {
 public:
  /// The first tries of a section: the status of the last one, and their number. 0 tries: elision is off, the
  /// lock was held, or none was made yet.
  struct Attempt {
    htm::Status status;
    std::uint32_t tries = 0;
    bool was_made() const { return tries != 0; }
  };

  /// Enters the section: as a transaction if one begins within N tries, else by the fallback. Not inside a
  /// transaction of ours. `writes`: see ElidedLock. `attempt`: the result of attempt(), if the caller called
  /// it.
  template <Caller C>
  [[gnu::always_inline]] static Entry enter(LockWords words, C caller, const Deadline* deadline,
                                            bool writes = true, Attempt attempt = {}) {
    const Parameters& parameters = caller.parameters();
    if (!attempt.was_made() && tries(parameters) != 0 && !Lock::is_held(words)) [[likely]] {
      TransactionContext& me = caller.transaction();
      prepare_commit(me, caller, caller.recorder());
      caller.activity().begin(abi::Activity::kAttempt);
      attempt = Elided::attempt(words, me, parameters, writes);
      if (attempt.status.started()) [[likely]]
        return Entry::kElided;
    }
    return enter_slow(attempt, words, caller, deadline, writes);
  }

  /// Whether attempt() may be called: elision is on, and the lock looks free.
  static bool may_attempt(LockWords words) { return transactions_are_on() && !Lock::is_held(words); }

  /// The first try. Needs no stack frame, clock or look-up; `me` names the counters and the activity, which
  /// is an attempt. enter() does everything else.
  [[gnu::always_inline]] static Attempt attempt_once(LockWords words, TransactionContext& me,
                                                     bool writes = true) {
    return {begin(words, me, 0, false, writes), 1};
  }
  /// The next tries, if the first one failed. They follow at once as long as conflicts end them: the
  /// transaction that won will soon be over. A function that calls this needs a stack frame.
  [[gnu::always_inline]] static void attempt_again(Attempt& attempt, LockWords words, TransactionContext& me,
                                                   const Parameters& parameters, bool writes = true) {
    while (!attempt.status.started()) {
      if (Contention::kWaits || parameters.backs_off || !attempt.status.is_conflict() ||
          attempt.tries >= kTriesAtOnce || attempt.tries >= parameters.elision_tries || Lock::is_held(words))
        return;
      Recorder(*me.entry, me.entry_is_shared).abort(abi::AbortCause::kConflict);
      me.activity->mark();
      attempt.status = begin(words, me, 0, false, writes);
      ++attempt.tries;
    }
  }
  /// Both.
  [[gnu::always_inline]] static Attempt attempt(LockWords words, TransactionContext& me,
                                                const Parameters& parameters, bool writes = true) {
    Attempt attempt = attempt_once(words, me, writes);
    if (!attempt.status.started()) [[unlikely]]
      attempt_again(attempt, words, me, parameters, writes);
    return attempt;
  }

  /// trylock: as enter(), but never waits for a holder.
  template <Caller C>
  static Entry try_enter(LockWords words, C caller, bool writes = true) {
    TransactionContext& me = caller.transaction();
    const Recorder recorder = caller.recorder();
    for (std::uint32_t left = tries(caller.parameters()); left > 0; --left) {
      if (Lock::is_held(words)) break;
      prepare_commit(me, caller, recorder);
      caller.activity().begin(abi::Activity::kAttempt);
      const htm::Status status = begin(words, me, 0, false, writes);
      if (status.started()) return Entry::kElided;
      caller.activity().turn_to(abi::Activity::kOverhead);
      recorder.abort(status.cause());
      if (status.has_code(htm::kCodeGiveUp)) break;
    }
    if (Lock::is_held(words) || !Lock::try_acquire(words)) {
      caller.activity().end();
      recorder.busy();
      return Entry::kBusy;
    }
    recorder.acquired(0);
    return fell_back(caller, recorder);
  }

  /// A further lock inside a transaction. Its holder may hold it for long. The transaction then aborts, which
  /// uses up a try, so that in the end this thread holds its locks for real and can sleep.
  static Entry enter_further(LockWords words, TransactionContext& me, bool writes = true) {
    const Entry entry = try_enter_further(words, me, writes);
    if (entry == Entry::kBusy) (void)Htm::template abort<htm::kCodeNestedBusy>();
    return entry;
  }

  /// The same for trylock: kBusy if the lock is held.
  static Entry try_enter_further(LockWords words, TransactionContext& me, bool writes = true) {
    if (me.find(words.word) != nullptr) return Entry::kOwn;
    if (kSubscription == Subscription::kEarly && Lock::is_held(words)) return Entry::kBusy;
    if (me.count == TransactionContext::kMostLocks) (void)Htm::template abort<htm::kCodeGiveUp>();
    me.add(words.word, writes);
    return Entry::kElided;
  }

  /// Leaves the section if the transaction elides this lock alone: the common way out.
  [[gnu::always_inline]] static bool leave_quickly(LockWords words, TransactionContext& me) {
    if (!me.has_only(words.word)) return false;
    me.count = 0;
    commit(me);
    return true;
  }

  /// Leaves the section, elided or not. False: the lock was not held.
  static bool leave(LockWords words, TransactionContext& me) {
    if (!me.inside()) return Lock::release(words);
    ElidedLock* mine = me.find(words.word);
    if (mine == nullptr) return release_inside(words);
    if (--mine->depth > 0) return true;
    me.remove(mine);
    if (!me.inside()) commit(me);
    return true;
  }

  /// Aborts the transaction, if there is one; the section then runs again with the lock taken. Returns
  /// outside of transactions.
  static void require_real_locks(const TransactionContext& me) {
    if (me.inside()) (void)Htm::template abort<htm::kCodeGiveUp>();
  }

 private:
  /// For a section whose lock is held, or whose first tries failed. Out of line, but not cold: contended
  /// sections often come here.
  template <Caller C>
  [[gnu::noinline]] static Entry enter_slow(Attempt attempt, LockWords words, C caller,
                                            const Deadline* deadline, bool writes) {
    const Parameters& parameters = caller.parameters();
    TransactionContext& me = caller.transaction();
    const Recorder recorder = caller.recorder();
    prepare_commit(me, caller, recorder);
    const ActivityAt activity = caller.activity();
    const IfLeft if_left(Contention::kWaits ? &stop_contending : nullptr, &me);
    WaitClock clock;
    Backoff backoff;
    bool held = false;
    std::uint32_t left = tries(parameters);
    if (attempt.tries > 1 && left > 0) left -= attempt.tries - 1;  // the loop counts the last one
    for (htm::Status status = attempt.status; left > 0;) {
      if (!status.started()) {
        activity.begin(abi::Activity::kOverhead);
        const abi::AbortCause cause = status.cause();
        recorder.abort(cause);
        if (status.has_code(htm::kCodeGiveUp)) break;
        if (!was_waiting(status, held, parameters)) {
          if (cause == abi::AbortCause::kConflict) {
            if constexpr (Contention::kWaits) {
              activity.begin(abi::Activity::kWaiting);
              clock.start();
            }
            // On timeout in the queue, try the lock itself once more.
            if (!Contention::after_conflict(words, me, deadline)) break;
          }
          if (--left == 0) break;
          if (parameters.backs_off || (cause == abi::AbortCause::kConflict && !Contention::kWaits)) {
            clock.start();
            backoff.wait();
          }
        }
      }
      held = parameters.busy != Busy::kAbort && Lock::is_held(words);
      if (held) {
        activity.begin(abi::Activity::kWaiting);
        recorder.busy();
        clock.start();
        if (deadline != nullptr && deadline->has_passed()) return finish(me, gave_up(caller));
        if (parameters.busy == Busy::kFallBack) break;
        if (parameters.busy == Busy::kOutside && !Lock::wait_until_free(words, deadline))
          return finish(me, gave_up(caller));
      }
      activity.begin(abi::Activity::kAttempt);
      status = begin(words, me, clock.waited(), held && parameters.busy == Busy::kInside, writes);
      if (status.started()) return Entry::kElided;
    }
    return finish(me, fall_back(words, caller, recorder, clock, deadline));
  }

  static void commit(TransactionContext& me) {
    Htm::commit();
    me.activity->end();
    Contention::finished(me);
    Recorder(*me.entry, me.entry_is_shared).committed(me.waited_ticks);
    if (me.deferred_count != 0) [[unlikely]]
      ConditionQueue::send_deferred(me);
  }

  static bool transactions_are_on() { return __atomic_load_n(&elision_transactions, __ATOMIC_RELAXED) != 0; }
  static std::uint32_t tries(const Parameters& parameters) {
    return transactions_are_on() && !is_single_threaded() ? parameters.elision_tries : 0;
  }

  /// Begins a transaction that subscribes to the lock. The status says that it started or why it aborted.
  /// `waited_ticks`: how long the thread has waited.
  [[gnu::always_inline]] static htm::Status begin(LockWords words, TransactionContext& me,
                                                  std::uint64_t waited_ticks, bool loop_while_held,
                                                  bool writes) {
    me.waited_ticks = waited_ticks;
    htm::Status status = Htm::begin();
    if (!status.started()) return status;
    if constexpr (kSubscription == Subscription::kEarly) {
      if (Lock::is_held(words)) [[unlikely]] {
        if (!loop_while_held) return Htm::template abort<htm::kCodeLockBusy>();
        while (Lock::is_held(words)) {
        }  // only the abort by the holder's release leaves this loop
      }
    }
    me.add_first(words.word, writes);
    return status;
  }

  // Reading the clock takes a tenth of a short section, so a wait starts only when the lock is held or after
  // these tries. With 2, a hash table loses 5 %; with 16, sections that always conflict lose more than half.
  static constexpr std::uint32_t kTriesAtOnce = 4;

  static void stop_contending(void* me) { Contention::left(*static_cast<TransactionContext*>(me)); }
  static Entry finish(TransactionContext& me, Entry entry) {
    Contention::finished(me);
    return entry;
  }

  /// Whether the abort only ended a wait for the holder. Such an abort does not use up a try.
  static bool was_waiting(htm::Status status, bool held, const Parameters& parameters) {
    if (parameters.busy == Busy::kFallBack || parameters.busy == Busy::kAbort) return false;
    if (status.has_code(htm::kCodeLockBusy)) return true;
    return held && parameters.busy == Busy::kInside && !parameters.busy_counts;
  }

  template <Caller C>
  static Entry fall_back(LockWords words, C caller, const Recorder& recorder, WaitClock& clock,
                         const Deadline* deadline) {
    if (Fallback::try_first(words)) {
      recorder.acquired(clock.started_at());
      return fell_back(caller, recorder);
    }
    const Entry entry = Fallback::enter(words, caller, clock, deadline);
    if (entry == Entry::kHolding) note_fallback(caller, recorder);
    return entry;
  }
  /// The fallback has taken the lock at once.
  template <Caller C>
  static Entry fell_back(C caller, const Recorder& recorder) {
    caller.took();
    note_fallback(caller, recorder);
    return Entry::kHolding;
  }
  template <Caller C>
  static void note_fallback(C caller, const Recorder& recorder) {
    caller.activity().thread->is_fallback();
    recorder.fell_back();
  }

  /// Releases, inside a transaction, a lock that was taken before it began. The commit publishes the store.
  /// If the release needs a wake-up, or the lock is free, which is reported, the transaction aborts and the
  /// release is repeated outside.
  static bool release_inside(LockWords words) {
    if (!Lock::release_quietly(words)) (void)Htm::template abort<htm::kCodeGiveUp>();
    return true;
  }
};

}  // namespace elision::locks
