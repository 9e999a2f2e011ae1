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
//    of them is released, in whatever order they are.
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
#include "locks/entry.h"
#include "locks/futex.h"

namespace elision::locks {

/// No section is elided while this is 0. The library exports it, so that a debugger can set it in a process
/// that runs ("set var elision_transactions = 0"); abi/lock_variables.h has the variable that it starts from.
extern "C" {
[[gnu::visibility("default")]] inline constinit int elision_transactions = 1;
}

/// kRemoved exists for tests that must fail: without subscription updates are lost.
enum class Subscription { kEarly, kRemoved };

/// Conflicts are left to back-off.
struct NoContentionControl {
  static bool after_conflict(Cell, TransactionContext&, const Deadline*) { return true; }
  static void finished(TransactionContext&) {}
};

template <htm::Transactional Htm, class Lock, class Fallback, class Contention = NoContentionControl,
          Subscription kSubscription = Subscription::kEarly>
class Elided {
 public:
  /// Outside of transactions of ours. Enters the section: as transaction if one begins within N tries, else
  /// as the fallback does. `writes`: see ElidedLock. What follows the first abort is kept out of line.
  template <Caller C>
  [[gnu::always_inline]] static Entry enter(Cell cell, C caller, const Deadline* deadline,
                                            bool writes = true) {
    if (tries(caller.parameters()) == 0 || Lock::is_held(cell)) [[unlikely]]
      return go_on(cell, caller, deadline, writes);
    const htm::Status status = begin(cell, caller.transaction(), caller.recorder(), 0, false, writes);
    if (status.started()) [[likely]]
      return Entry::kElided;
    return go_on_after(status, cell, caller, deadline, writes);
  }

  /// trylock: as enter(), but never waits for a holder.
  template <Caller C>
  static Entry try_enter(Cell cell, C caller, bool writes = true) {
    TransactionContext& me = caller.transaction();
    const Recorder recorder = caller.recorder();
    for (std::uint32_t left = tries(caller.parameters()); left > 0; --left) {
      if (Lock::is_held(cell)) break;
      const htm::Status status = begin(cell, me, recorder, 0, false, writes);
      if (status.started()) return Entry::kElided;
      recorder.abort(status.cause());
      if (status.has_code(htm::kCodeGiveUp)) break;
    }
    if (Lock::is_held(cell) || !Lock::try_acquire(cell)) {
      recorder.busy();
      return Entry::kBusy;
    }
    recorder.acquired(0);
    recorder.fell_back();
    return Entry::kHolding;
  }

  /// A further lock inside a transaction. Whoever holds it may hold it for long: the transaction gives up
  /// a try instead of waiting, so that in the end this thread waits as lock holder, asleep.
  static Entry enter_further(Cell cell, TransactionContext& me, bool writes = true) {
    const Entry entry = try_enter_further(cell, me, writes);
    if (entry == Entry::kBusy) (void)Htm::template abort<htm::kCodeNestedBusy>();
    return entry;
  }

  /// The same for trylock: says so if the lock is held.
  static Entry try_enter_further(Cell cell, TransactionContext& me, bool writes = true) {
    if (me.find(cell.word) != nullptr) return Entry::kOwn;
    if (kSubscription == Subscription::kEarly && Lock::is_held(cell)) return Entry::kBusy;
    if (me.count == TransactionContext::kMostLocks) (void)Htm::template abort<htm::kCodeGiveUp>();
    me.add(cell.word, writes);
    return Entry::kElided;
  }

  /// Leaves the section if it is elided and no other lock is: the way out that nearly all take.
  [[gnu::always_inline]] static bool leave_only(Cell cell, TransactionContext& me) {
    if (!me.has_only(cell.word)) return false;
    me.count = 0;
    commit(me);
    return true;
  }

  /// Leaves the section, elided or not. False: the lock was not held.
  static bool leave(Cell cell, TransactionContext& me) {
    if (!me.inside()) return Lock::release(cell);
    ElidedLock* mine = me.find(cell.word);
    if (mine == nullptr) return release_inside(cell);
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
  static void commit(TransactionContext& me) {
    Htm::commit();
    Contention::finished(me);
    Recorder(*me.entry, me.entry_is_shared).committed(me.waited_ticks);
  }

  static std::uint32_t tries(const Parameters& parameters) {
    return __atomic_load_n(&elision_transactions, __ATOMIC_RELAXED) != 0 ? parameters.elision_tries : 0;
  }

  /// Begins a transaction subscribed to the lock. The result is "started" or why it ended. `waited_ticks`:
  /// how long the thread waited before.
  [[gnu::always_inline]] static htm::Status begin(Cell cell, TransactionContext& me, const Recorder& recorder,
                                                  std::uint64_t waited_ticks, bool loop_while_held,
                                                  bool writes) {
    recorder.prepare_commit(me.entry, me.entry_is_shared);
    me.waited_ticks = waited_ticks;
    htm::Status status = Htm::begin();
    if (!status.started()) return status;
    if constexpr (kSubscription == Subscription::kEarly) {
      if (Lock::is_held(cell)) [[unlikely]] {
        if (!loop_while_held) return Htm::template abort<htm::kCodeLockBusy>();
        while (Lock::is_held(cell)) {
        }  // the holder's release aborts us; there is no other way out on a CPU
      }
    }
    me.add(cell.word, writes);
    return status;
  }

  // Out of line, with a name of their own so that their state is not made before it is needed.
  template <Caller C>
  [[gnu::noinline, gnu::cold]] static Entry go_on(Cell cell, C caller, const Deadline* deadline,
                                                  bool writes) {
    return Attempts<C>(cell, caller, deadline, writes).run();
  }
  template <Caller C>
  [[gnu::noinline, gnu::cold]] static Entry go_on_after(htm::Status first, Cell cell, C caller,
                                                        const Deadline* deadline, bool writes) {
    return Attempts<C>(cell, caller, deadline, writes).run_after(first);
  }

  /// The tries of one section, once the first has failed or the lock was found held.
  template <Caller C>
  class Attempts {
   public:
    Attempts(Cell cell, C caller, const Deadline* deadline, bool writes)
        : cell_(cell),
          caller_(caller),
          deadline_(deadline),
          writes_(writes),
          parameters_(caller.parameters()),
          me_(caller.transaction()),
          recorder_(caller.recorder()),
          left_(tries(parameters_)) {}

    Entry run_after(htm::Status first) { return goes_on_after(first, false) ? run() : finish(fall_back()); }

    Entry run() {
      while (left_ > 0) {
        const bool held = Lock::is_held(cell_);
        if (held) {
          recorder_.busy();
          clock_.start();
          if (deadline_ != nullptr && deadline_->has_passed()) return finish(Entry::kTimedOut);
          if (parameters_.busy == Busy::kFallBack) break;
          if (parameters_.busy == Busy::kOutside && !Lock::wait_until_free(cell_, deadline_))
            return finish(Entry::kTimedOut);
        }
        const std::uint64_t waited = clock_.started_at() == 0 ? 0 : ticks() - clock_.started_at();
        const htm::Status status =
            begin(cell_, me_, recorder_, waited, held && parameters_.busy == Busy::kInside, writes_);
        if (status.started()) return Entry::kElided;
        if (!goes_on_after(status, held)) break;
      }
      return finish(fall_back());
    }

   private:
    /// Takes note of an abort. False: no further try.
    bool goes_on_after(htm::Status status, bool held) {
      clock_.start();
      recorder_.abort(status.cause());
      if (status.has_code(htm::kCodeGiveUp)) return false;
      if (was_waiting(status, held)) return true;
      // Whose time passes in the queue of those that conflict looks at the lock itself once more.
      if (status.cause() == abi::AbortCause::kConflict && !Contention::after_conflict(cell_, me_, deadline_))
        return false;
      if (--left_ > 0) backoff_.wait();
      return true;
    }

    /// Whether an abort came from waiting for the holder, and so does not use up a try.
    bool was_waiting(htm::Status status, bool held) const {
      if (parameters_.busy == Busy::kFallBack) return false;
      if (status.has_code(htm::kCodeLockBusy)) return true;
      return held && parameters_.busy == Busy::kInside && !parameters_.busy_counts;
    }

    Entry fall_back() {
      Entry entry = Entry::kHolding;
      if (Fallback::try_first(cell_)) {
        recorder_.acquired(clock_.started_at());
      } else {
        entry = Fallback::enter(cell_, caller_, clock_, deadline_);
      }
      if (entry == Entry::kHolding) recorder_.fell_back();
      return entry;
    }

    Entry finish(Entry entry) {
      Contention::finished(me_);
      return entry;
    }

    const Cell cell_;
    C caller_;
    const Deadline* const deadline_;
    const bool writes_;
    const Parameters& parameters_;
    TransactionContext& me_;
    const Recorder recorder_;
    std::uint32_t left_;
    WaitClock clock_;
    Backoff backoff_;
  };

  /// Releases, inside a transaction, a lock that was taken before it began: the store becomes visible
  /// with the commit. A wake-up is a system call, and an unlock of a free lock is worth a report:
  /// both happen again outside.
  static bool release_inside(Cell cell) {
    if (!Lock::release_quietly(cell)) (void)Htm::template abort<htm::kCodeGiveUp>();
    return true;
  }
};

}  // namespace elision::locks
