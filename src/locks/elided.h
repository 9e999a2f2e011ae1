// SPDX-License-Identifier: Apache-2.0
// htm-N: the critical section as a transaction, tried N times, over a lock as fallback (AAHTM paper, IV-A,
// "htm-1, htm-10").
//
// Invariants:
//  - Early subscription: the transaction reads the lock word before anything of the section, so a
//    thread that takes the lock aborts it, and it never runs beside a holder.
//  - A held lock alone never leads to the fallback (the lemming effect, ibid.), unless Busy::kFallBack asks
//    for it. Either the thread waits until the lock is free before it begins, or, as in the paper, it begins
//    and loops inside the transaction, without PAUSE (which aborts), until the holder's release aborts it.
//  - Locks met inside the transaction are subscribed to as well; the transaction commits when the last
//    of them is released, in whatever order they are. What must wait for the commit is done then
//    (condition.h).
//  - A process with one thread elides nothing (alone.h).
//
// The first tries follow each other at once, unless Parameters::backs_off asks for the paper's back-off: on
// the virtual Broadwell that takes up to a fifth of the throughput of a map or a hash table
// (docs/measured/elision-compared.md has what remains between us and locks that never back off). The others
// follow after back-off: sections that always conflict, tried ten times at once, got 0.4 of the throughput of
// a mutex, where now they get nearly all of it (docs/measured/lock-costs.md, mutex 200ns).
//
// What ends a transaction can be told only from the status, and an abort out of the inside loop has that
// of any conflict. So a thread loops inside only if it saw the lock held just before it began, and takes
// the abort of such a transaction as one out of the loop; a lock taken in between ends the transaction
// by our own XABORT, and the next one loops.
//
// `Lock` is the protocol on the words (tatas.h, spin_word.h, a side of rwlock.h), `Fallback` the way to wait
// for it (plain_wait.h and its like), `Contention` what is done about conflicts (nothing, or
// auxiliary_queue.h).
#pragma once

#include "htm/backend.h"
#include "locks/alone.h"
#include "locks/condition.h"
#include "locks/entry.h"
#include "locks/futex.h"
#include "locks/if_left.h"

namespace elision::locks {

/// No section is elided while this is 0. The library exports it, so that a debugger can set it in a process
/// that runs ("set var elision_transactions = 0"); abi/lock_variables.h has the variable that it starts from.
extern "C" {
[[gnu::visibility("default")]] inline constinit int elision_transactions = 1;
}

/// kRemoved exists for tests that must fail: without subscription updates are lost.
enum class Subscription { kEarly, kRemoved };

/// A thread that conflicts tries again.
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
  /// How the first tries of a section went: the last one's status, and how many there were. None: elision is
  /// off, the lock was found held, or nobody has looked yet.
  struct Attempt {
    htm::Status status;
    std::uint32_t tries = 0;
    bool was_made() const { return tries != 0; }
  };

  /// Outside of transactions of ours. Enters the section: as transaction if one begins within N tries, else
  /// as the fallback does. `writes`: see ElidedLock. `attempt`: that of attempt(), if the caller called it.
  template <Caller C>
  [[gnu::always_inline]] static Entry enter(LockWords words, C caller, const Deadline* deadline,
                                            bool writes = true, Attempt attempt = {}) {
    const Parameters& parameters = caller.parameters();
    if (!attempt.was_made() && tries(parameters) != 0 && !Lock::is_held(words)) [[likely]] {
      TransactionContext& me = caller.transaction();
      caller.recorder().prepare_commit(me.entry, me.entry_is_shared);
      attempt = Elided::attempt(words, me, parameters, writes);
      if (attempt.status.started()) [[likely]]
        return Entry::kElided;
    }
    return enter_slow(attempt, words, caller, deadline, writes);
  }

  /// Whether attempt() may be called: elision is on, and the lock looks free.
  static bool may_attempt(LockWords words) { return transactions_are_on() && !Lock::is_held(words); }

  /// The first tries, as long as conflicts end them: at once, since the other thread's transaction has won
  /// and will soon be over, and without a frame, a clock or a look-up. `me` names the counters. What else can
  /// happen is enter()'s.
  [[gnu::always_inline]] static Attempt attempt(LockWords words, TransactionContext& me,
                                                const Parameters& parameters, bool writes = true) {
    for (Attempt attempt{{}, 1};; ++attempt.tries) {
      attempt.status = begin(words, me, 0, false, writes);
      if (attempt.status.started()) [[likely]]
        return attempt;
      if (Contention::kWaits || parameters.backs_off || !attempt.status.is_conflict() ||
          attempt.tries >= kTriesAtOnce || attempt.tries >= parameters.elision_tries || Lock::is_held(words))
        return attempt;
      Recorder(*me.entry, me.entry_is_shared).abort(abi::AbortCause::kConflict);
    }
  }

  /// trylock: as enter(), but never waits for a holder.
  template <Caller C>
  static Entry try_enter(LockWords words, C caller, bool writes = true) {
    TransactionContext& me = caller.transaction();
    const Recorder recorder = caller.recorder();
    for (std::uint32_t left = tries(caller.parameters()); left > 0; --left) {
      if (Lock::is_held(words)) break;
      recorder.prepare_commit(me.entry, me.entry_is_shared);
      const htm::Status status = begin(words, me, 0, false, writes);
      if (status.started()) return Entry::kElided;
      recorder.abort(status.cause());
      if (status.has_code(htm::kCodeGiveUp)) break;
    }
    if (Lock::is_held(words) || !Lock::try_acquire(words)) {
      recorder.busy();
      return Entry::kBusy;
    }
    recorder.acquired(0);
    recorder.fell_back();
    return Entry::kHolding;
  }

  /// A further lock inside a transaction. Its holder may hold it for long: the transaction gives up
  /// a try instead of waiting, so that in the end this thread waits as lock holder, asleep.
  static Entry enter_further(LockWords words, TransactionContext& me, bool writes = true) {
    const Entry entry = try_enter_further(words, me, writes);
    if (entry == Entry::kBusy) (void)Htm::template abort<htm::kCodeNestedBusy>();
    return entry;
  }

  /// The same for trylock: says so if the lock is held.
  static Entry try_enter_further(LockWords words, TransactionContext& me, bool writes = true) {
    if (me.find(words.word) != nullptr) return Entry::kOwn;
    if (kSubscription == Subscription::kEarly && Lock::is_held(words)) return Entry::kBusy;
    if (me.count == TransactionContext::kMostLocks) (void)Htm::template abort<htm::kCodeGiveUp>();
    me.add(words.word, writes);
    return Entry::kElided;
  }

  /// Leaves the section if it is elided and no other lock is: the way out that nearly all take.
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

  /// What follows cannot run in a transaction: abort, and take the lock for real. Returns outside one.
  static void require_real_locks(const TransactionContext& me) {
    if (me.inside()) (void)Htm::template abort<htm::kCodeGiveUp>();
  }

 private:
  /// The way of a section whose lock was found held, or whose first tries failed. Out of line, but not cold:
  /// under contention many come here.
  template <Caller C>
  [[gnu::noinline]] static Entry enter_slow(Attempt attempt, LockWords words, C caller,
                                            const Deadline* deadline, bool writes) {
    const Parameters& parameters = caller.parameters();
    TransactionContext& me = caller.transaction();
    const Recorder recorder = caller.recorder();
    recorder.prepare_commit(me.entry, me.entry_is_shared);
    const IfLeft if_left(Contention::kWaits ? &stop_contending : nullptr, &me);
    WaitClock clock;
    Backoff backoff;
    bool held = false;
    std::uint32_t left = tries(parameters);
    if (attempt.tries > 1 && left > 0) left -= attempt.tries - 1;  // the last is still to be judged
    for (htm::Status status = attempt.status; left > 0;) {
      if (!status.started()) {
        const abi::AbortCause cause = status.cause();
        recorder.abort(cause);
        if (status.has_code(htm::kCodeGiveUp)) break;
        if (!was_waiting(status, held, parameters)) {
          if (cause == abi::AbortCause::kConflict) {
            if constexpr (Contention::kWaits) clock.start();
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
      held = Lock::is_held(words);
      if (held) {
        recorder.busy();
        clock.start();
        if (deadline != nullptr && deadline->has_passed()) return finish(me, Entry::kTimedOut);
        if (parameters.busy == Busy::kFallBack) break;
        if (parameters.busy == Busy::kOutside && !Lock::wait_until_free(words, deadline))
          return finish(me, Entry::kTimedOut);
      }
      status = begin(words, me, clock.waited(), held && parameters.busy == Busy::kInside, writes);
      if (status.started()) return Entry::kElided;
    }
    return finish(me, fall_back(words, caller, recorder, clock, deadline));
  }

  static void commit(TransactionContext& me) {
    Htm::commit();
    Contention::finished(me);
    Recorder(*me.entry, me.entry_is_shared).committed(me.waited_ticks);
    if (me.deferred_count != 0) [[unlikely]]
      ConditionQueue::send_deferred(me);
  }

  static bool transactions_are_on() { return __atomic_load_n(&elision_transactions, __ATOMIC_RELAXED) != 0; }
  static std::uint32_t tries(const Parameters& parameters) {
    return transactions_are_on() && !is_single_threaded() ? parameters.elision_tries : 0;
  }

  /// Begins a transaction subscribed to the lock. The result is "started" or why it ended. `waited_ticks`:
  /// how long the thread waited before.
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
        }  // the holder's release aborts us; there is no other way out on a CPU
      }
    }
    me.add_first(words.word, writes);
    return status;
  }

  // A look at the clock takes a tenth of a short section: a wait begins when the lock is found held, or after
  // these. With two a hash table gets 5 % less, with sixteen sections that always conflict less than half.
  static constexpr std::uint32_t kTriesAtOnce = 4;

  static void stop_contending(void* me) { Contention::left(*static_cast<TransactionContext*>(me)); }
  static Entry finish(TransactionContext& me, Entry entry) {
    Contention::finished(me);
    return entry;
  }

  /// Whether an abort came from waiting for the holder, and so does not use up a try.
  static bool was_waiting(htm::Status status, bool held, const Parameters& parameters) {
    if (parameters.busy == Busy::kFallBack) return false;
    if (status.has_code(htm::kCodeLockBusy)) return true;
    return held && parameters.busy == Busy::kInside && !parameters.busy_counts;
  }

  template <Caller C>
  static Entry fall_back(LockWords words, C caller, const Recorder& recorder, WaitClock& clock,
                         const Deadline* deadline) {
    Entry entry = Entry::kHolding;
    if (Fallback::try_first(words)) {
      recorder.acquired(clock.started_at());
    } else {
      entry = Fallback::enter(words, caller, clock, deadline);
    }
    if (entry == Entry::kHolding) recorder.fell_back();
    return entry;
  }

  /// Releases, inside a transaction, a lock that was taken before it began: the store becomes visible
  /// with the commit. A wake-up is a system call, and an unlock of a free lock is worth a report:
  /// both happen again outside.
  static bool release_inside(LockWords words) {
    if (!Lock::release_quietly(words)) (void)Htm::template abort<htm::kCodeGiveUp>();
    return true;
  }
};

}  // namespace elision::locks
