// SPDX-License-Identifier: Apache-2.0
// htm-N: the critical section as a transaction, tried N times, over a tatas lock as fallback (AAHTM
// paper, IV-A, "htm-1, htm-10").
//
// Invariants:
//  - Early subscription: the transaction reads the lock word before anything of the section, so a
//    thread that takes the lock aborts it, and it never runs beside a holder.
//  - A held lock alone never leads to the fallback (the lemming effect, ibid.). Either the thread waits
//    until the lock is free before it begins, or, as in the paper, it begins and loops inside the
//    transaction, without PAUSE (which aborts), until the holder's release aborts it.
//  - Locks met inside the transaction are subscribed to as well; the transaction commits when the last
//    of them is released, in whatever order they are.
//
// What ends a transaction can be told only from the status, and an abort out of the inside loop has that
// of any conflict. So a thread loops inside only if it saw the lock held just before it began, and takes
// the abort of such a transaction as one out of the loop; a lock taken in between ends the transaction
// by our own XABORT, and the next one loops.
#pragma once

#include "htm/backend.h"
#include "locks/parameters.h"
#include "locks/tatas.h"
#include "locks/transaction_context.h"

namespace elision::locks {

/// kRemoved exists for tests that must fail: without subscription updates are lost.
enum class Subscription { kEarly, kRemoved };

enum class Entry {
  kElided,    // a transaction runs in place of the lock
  kHolding,   // the lock was really taken
  kTimedOut,  // the deadline passed
  kBusy,      // trylock: somebody holds it
  kOwn,       // this transaction elides it already
};

template <htm::Transactional Htm, class Waiting, Subscription kSubscription = Subscription::kEarly>
class Elided {
 public:
  using Fallback = Tatas<Waiting>;
  using Word = typename Fallback::Word;

  /// Outside of transactions of ours. Enters the section: as transaction if one begins within
  /// `parameters.tries`, else as holder.
  static Entry enter(Word& word, TransactionContext& me, const Parameters& parameters, Recorder recorder,
                     const Deadline* deadline) {
    WaitClock clock;
    Backoff backoff;
    for (std::uint32_t left = parameters.tries; left > 0;) {
      const bool held = Fallback::is_held(word);
      if (held) {
        recorder.busy();
        clock.start();
        if (deadline != nullptr && deadline->has_passed()) return Entry::kTimedOut;
        if (!parameters.busy_inside && !Fallback::wait_until_free(word, deadline)) return Entry::kTimedOut;
      }
      const htm::Status status = begin(word, me, recorder, clock, held && parameters.busy_inside);
      if (status.started()) return Entry::kElided;
      clock.start();
      recorder.abort(status.cause());
      if (status.has_code(htm::kCodeGiveUp)) break;
      if (was_waiting(status, held, parameters)) continue;
      if (--left > 0) backoff.wait();
    }
    return fall_back(word, recorder, clock, deadline);
  }

  /// trylock: as enter(), but never waits for a holder.
  static Entry try_enter(Word& word, TransactionContext& me, const Parameters& parameters,
                         Recorder recorder) {
    WaitClock clock;
    for (std::uint32_t left = parameters.tries; left > 0; --left) {
      if (Fallback::is_held(word)) break;
      const htm::Status status = begin(word, me, recorder, clock, false);
      if (status.started()) return Entry::kElided;
      recorder.abort(status.cause());
      if (status.has_code(htm::kCodeGiveUp)) break;
    }
    if (Fallback::is_held(word) || !Fallback::try_acquire(word)) {
      recorder.busy();
      return Entry::kBusy;
    }
    recorder.acquired(0);
    recorder.fell_back();
    return Entry::kHolding;
  }

  /// A further lock inside a transaction. Whoever holds it may hold it for long: the transaction gives up
  /// a try instead of waiting, so that in the end this thread waits as lock holder, asleep.
  static Entry enter_further(Word& word, TransactionContext& me) {
    const Entry entry = try_enter_further(word, me);
    if (entry == Entry::kBusy) (void)Htm::template abort<htm::kCodeNestedBusy>();
    return entry;
  }

  /// The same for trylock: says so if the lock is held.
  static Entry try_enter_further(Word& word, TransactionContext& me) {
    if (me.find(&word) != nullptr) return Entry::kOwn;
    if (kSubscription == Subscription::kEarly && Fallback::is_held(word)) return Entry::kBusy;
    if (me.count == TransactionContext::kMostLocks) (void)Htm::template abort<htm::kCodeGiveUp>();
    me.add(&word);
    return Entry::kElided;
  }

  /// Leaves the section, elided or not. False: the lock was not held.
  static bool leave(Word& word, TransactionContext& me) {
    if (!me.inside()) return Fallback::release(word);
    ElidedLock* mine = me.find(&word);
    if (mine == nullptr) return release_inside(word);
    if (--mine->depth > 0) return true;
    me.remove(mine);
    if (me.inside()) return true;
    Htm::commit();
    Recorder(*me.entry, me.entry_is_shared).committed(me.waited_ticks);
    return true;
  }

  /// What follows cannot run in a transaction: abort, and take the lock for real. Returns outside one.
  static void require_real_locks(const TransactionContext& me) {
    if (me.inside()) (void)Htm::template abort<htm::kCodeGiveUp>();
  }

 private:
  /// Begins a transaction subscribed to `word`. The result is "started" or why it ended.
  [[gnu::always_inline]] static htm::Status begin(Word& word, TransactionContext& me,
                                                  const Recorder& recorder, const WaitClock& clock,
                                                  bool loop_while_held) {
    recorder.prepare_commit(me.entry, me.entry_is_shared);
    me.waited_ticks = clock.started_at() == 0 ? 0 : ticks() - clock.started_at();
    htm::Status status = Htm::begin();
    if (!status.started()) return status;
    if constexpr (kSubscription == Subscription::kEarly) {
      if (Fallback::is_held(word)) [[unlikely]] {
        if (!loop_while_held) return Htm::template abort<htm::kCodeLockBusy>();
        while (Fallback::is_held(word)) {
        }  // the holder's release aborts us; there is no other way out on a CPU
      }
    }
    me.add(&word);
    return status;
  }

  /// Whether an abort came from waiting for the holder, and so does not use up a try.
  static bool was_waiting(htm::Status status, bool held, const Parameters& parameters) {
    if (status.has_code(htm::kCodeLockBusy)) return true;
    return held && parameters.busy_inside && !parameters.busy_counts;
  }

  static Entry fall_back(Word& word, Recorder recorder, WaitClock clock, const Deadline* deadline) {
    if (Fallback::acquire(word, deadline) == Outcome::kTimedOut) return Entry::kTimedOut;
    recorder.acquired(clock.started_at());
    recorder.fell_back();
    return Entry::kHolding;
  }

  /// Releases, inside a transaction, a lock that was taken before it began: the store becomes visible
  /// with the commit. A wake-up is a system call, and an unlock of a free lock is worth a report:
  /// both happen again outside.
  static bool release_inside(Word& word) {
    if (word.load(std::memory_order_relaxed) != kHeld) (void)Htm::template abort<htm::kCodeGiveUp>();
    word.store(kFree, std::memory_order_release);
    return true;
  }
};

}  // namespace elision::locks
