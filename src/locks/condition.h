// SPDX-License-Identifier: Apache-2.0
// Condition variables that know of transactions (TSX paper, section 6.1, tsx.cond): a futex and a count of
// waiters, in the place of an object that is tied to a held mutex.
//
//   wait    inside the section: register; leave it, which commits what an elided section has done so far;
//           sleep; withdraw; enter the section again, elided if it can be
//   signal  raise the sequence, wake; inside a transaction the wake waits for the commit
//           (TransactionContext::deferred)
//
// Invariants:
//  - A waiter reads the sequence and is counted before its section ends. A thread that enters the section
//  later
//    therefore finds a count that is not zero, and raises a sequence that differs from the one the waiter
//    read: a signal between the end of the section and the sleep keeps it from sleeping.
//  - A signal is for a thread that waits already. One that comes after the sequence was raised could be
//    woken in its stead, so waiters sleep with a bit that follows from the sequence they read, and a
//    signal leaves out the bits of the sequences from its own on, kAhead of them. If that finds no
//    sleeper (none is asleep yet, or all have bits left out: old ones, a round of the bits behind), all
//    are woken: too many is the price of never one too few. (A signaller that is held up between the two
//    steps while kAhead others pass may wake a newcomer.)
//  - An aborted transaction has signalled nobody and waits nowhere: what it raised and noted is undone.
//    After the commit, which publishes what it signals for, the state is no longer touched, since a thread
//    that sees that may destroy it: a wake needs the address alone.
//  - After withdraw() a waiter does not touch the state: wait_until_left() returns when none has yet to.
//
// All zero is a condition variable. 2^32 signals between a waiter's registration and its sleep would go
// unnoticed.
#pragma once

#include <sched.h>

#include <atomic>
#include <bit>
#include <cstdint>

#include "locks/fork_generation.h"
#include "locks/futex.h"
#include "locks/lock_words.h"
#include "locks/transaction_context.h"

namespace elision::locks {

struct ConditionState {
  std::atomic<std::uint32_t> sequence;  // signals so far
  std::atomic<std::uint32_t> waiters;   // how many, and since which fork
};

/// The bit that a waiter sleeps with who read `sequence`.
constexpr std::uint32_t bit_of_sequence(std::uint32_t sequence) { return 1u << sequence % 32; }
inline constexpr std::uint32_t kAhead = 8;
/// All bits but those of the kAhead sequences from `sequence` on.
constexpr std::uint32_t bits_before(std::uint32_t sequence) {
  return ~std::rotl((1u << kAhead) - 1, static_cast<int>(sequence % 32));
}
static_assert((bits_before(31) & bit_of_sequence(31 + kAhead - 1)) == 0);
static_assert((bits_before(31) & bit_of_sequence(30)) != 0);

class ConditionQueue {
 public:
  /// Inside the section, elided or not: the calling thread is going to wait. The result is for sleep().
  static std::uint32_t enrol(ConditionState& state, const TransactionContext& me) {
    const std::uint32_t seen = state.sequence.load(std::memory_order_relaxed);
    std::uint32_t word = state.waiters.load(std::memory_order_relaxed);
    if (me.inside()) {
      state.waiters.store(current(word) + 1, std::memory_order_relaxed);
    } else {
      while (!state.waiters.compare_exchange_weak(word, current(word) + 1, std::memory_order_relaxed)) {
      }
    }
    return seen;
  }

  /// Outside: sleeps unless there was a signal since. False: the deadline passed first. May wake for no
  /// reason.
  static bool sleep(ConditionState& state, std::uint32_t seen, const Deadline* deadline) {
    if (state.sequence.load(std::memory_order_relaxed) != seen) return true;
    return futex_wait(&state.sequence, seen, bit_of_sequence(seen), deadline);
  }

  /// The calling thread waits no longer. The state may be gone afterwards.
  static void withdraw(ConditionState& state) {
    const std::uint32_t word = state.waiters.fetch_sub(1, std::memory_order_release);
    if ((word & (kDestroyerWaits | kCount)) == (kDestroyerWaits | 1)) [[unlikely]]
      futex_wake(&state.waiters, 1, kAnyBit);
  }

  /// `all`: a broadcast. False: the transaction has noted as many as it can.
  static bool notify_or_defer(ConditionState& state, TransactionContext& me, bool all) {
    if (!me.inside()) {
      notify(state, all);
      return true;
    }
    if (!has_waiters(state)) return true;  // which now holds until the commit
    const std::uint32_t raised = state.sequence.load(std::memory_order_relaxed) + 1;
    state.sequence.store(raised, std::memory_order_relaxed);
    return me.defer({&state.sequence, raised, all});
  }

  /// Outside of transactions.
  static void notify(ConditionState& state, bool all) {
    // The signaller's section, or what else ordered it behind the waiter's, has ended: its count is there.
    if (!has_waiters(state)) return;
    wake({&state.sequence, state.sequence.fetch_add(1, std::memory_order_release) + 1, all});
  }

  /// After the commit: wakes whom the transaction signalled.
  static void send_deferred(TransactionContext& me) {
    // A signal handler may come in between, and use the list itself.
    DeferredSignal noted[TransactionContext::kMostDeferred];
    const std::uint32_t count = me.deferred_count;
    for (std::uint32_t i = 0; i < count; ++i) noted[i] = me.deferred[i];
    me.deferred_count = 0;
    for (std::uint32_t i = 0; i < count; ++i) wake(noted[i]);
  }

  static bool has_waiters(const ConditionState& state) {
    return (current(state.waiters.load(std::memory_order_relaxed)) & kCount) != 0;
  }

  /// Returns once nobody whom a signal has reached has yet to leave. With somebody asleep: never.
  static void wait_until_left(ConditionState& state) {
    std::uint32_t word = state.waiters.load(std::memory_order_acquire);
    while ((current(word) & kCount) != 0) {
      if ((word & kDestroyerWaits) != 0 ||
          state.waiters.compare_exchange_weak(word, word | kDestroyerWaits, std::memory_order_relaxed))
        futex_wait(&state.waiters, word | kDestroyerWaits, kAnyBit, nullptr);
      word = state.waiters.load(std::memory_order_acquire);
    }
  }

 private:
  // `waiters`: how many, whether somebody waits for them to leave, and above that the fork that they belong
  // to.
  static constexpr std::uint32_t kCount = (1u << 19) - 1;  // more than a process can have threads
  static constexpr std::uint32_t kDestroyerWaits = kCount + 1;
  static constexpr std::uint32_t kGenerationUnit = 2 * kDestroyerWaits;

  /// The word with those forgotten who waited in the parent of a fork.
  static std::uint32_t current(std::uint32_t word) {
    const std::uint32_t generation = fork_generation() * kGenerationUnit;
    return (word ^ generation) < kGenerationUnit ? word : generation;
  }

  static void wake(const DeferredSignal& signal) {
    if (signal.all || futex_wake(signal.futex, 1, bits_before(signal.sequence)) == 0)
      futex_wake(signal.futex, kAllSleepers, kAnyBit);
  }
};

/// The condition variable of a lock under `Design` (designs.h).
template <class Design>
struct Condition {
  /// The calling thread is in the section of `words`, and is again at the end. False: the deadline passed
  /// first; true may also be a wake-up for no reason.
  template <class C>
  static bool wait(ConditionState& state, LockWords words, C caller, const Deadline* deadline) {
    TransactionContext& me = caller.transaction();
    // Other locks that the transaction elides would be given up with this one.
    if (me.inside() && !me.has_only(words.word)) Design::require_real_locks(me);
    const std::uint32_t seen = ConditionQueue::enrol(state, me);
    Design::leave(words, me);
    const bool in_time = ConditionQueue::sleep(state, seen, deadline);
    ConditionQueue::withdraw(state);
    (void)Design::enter(words, caller, nullptr);
    return in_time;
  }
  static void signal(ConditionState& state, TransactionContext& me) { notify(state, me, false); }
  static void broadcast(ConditionState& state, TransactionContext& me) { notify(state, me, true); }

 private:
  static void notify(ConditionState& state, TransactionContext& me, bool all) {
    if (!ConditionQueue::notify_or_defer(state, me, all)) Design::require_real_locks(me);
  }
};

}  // namespace elision::locks
