// SPDX-License-Identifier: Apache-2.0
// Condition variables for elided sections (TSX paper, section 6.1, tsx.cond): a futex word and a count of
// waiters, without a mutex that must be held.
//
//   wait    inside the section: register; leave the section, which commits an elided one; sleep; withdraw;
//           enter the section again, elided if possible
//   signal  raise the sequence, wake; inside a transaction the wake waits for the commit
//           (TransactionContext::deferred)
//
// Invariants:
//  - A waiter reads the sequence and is counted before its section ends. A thread that enters the section
//    later therefore sees a waiter and raises the sequence. So a signal between the end of the section and
//    the sleep keeps the waiter awake.
//  - A signal is for a thread that already waits. A thread that comes after the sequence was raised must not
//    be woken in its place. So waiters sleep with a bit derived from the sequence they read, and a signal
//    leaves out the bits of the next kAhead sequences, from its own on. If this wakes no sleeper, all are
//    woken: either nobody sleeps yet, or the sleepers' sequences are so old that their bits came round again.
//    That may wake too many threads, but never too few. (A signaller that is delayed between the two steps
//    while kAhead others pass may wake a newcomer.)
//  - An aborted transaction has signalled nobody and waits nowhere: the abort undoes the raised sequence and
//    the noted wakes. After the commit the state is not touched, since a thread that sees the committed data
//    may destroy it. The wake needs only the address.
//  - After withdraw() a waiter does not touch the state. wait_until_left() returns when all have withdrawn.
//
// A state of zeros is an initialised condition variable. A waiter would miss exactly 2^32 signals between its
// registration and its sleep.
#pragma once

#include <sched.h>

#include <atomic>
#include <bit>
#include <cstdint>

#include "locks/activity.h"
#include "locks/fork_generation.h"
#include "locks/futex.h"
#include "locks/lock_words.h"
#include "locks/transaction_context.h"

namespace elision::locks {

struct ConditionState {
  std::atomic<std::uint32_t> sequence;  // signals so far
  std::atomic<std::uint32_t> waiters;   // how many, and since which fork
};

/// The bit with which a waiter that read `sequence` sleeps.
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
  /// Registers the calling thread, inside the section, elided or not. Pass the result to sleep().
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

  /// Outside of the section: sleeps unless a signal came since enrol(). False: the deadline passed first. May
  /// wake spuriously.
  static bool sleep(ConditionState& state, std::uint32_t seen, const Deadline* deadline) {
    if (state.sequence.load(std::memory_order_relaxed) != seen) return true;
    return futex_wait(&state.sequence, seen, bit_of_sequence(seen), deadline);
  }

  /// The calling thread stops waiting. Afterwards the state may be destroyed.
  static void withdraw(ConditionState& state) {
    const std::uint32_t word = state.waiters.fetch_sub(1, std::memory_order_release);
    if ((word & (kDestroyerWaits | kCount)) == (kDestroyerWaits | 1)) [[unlikely]]
      futex_wake(&state.waiters, 1, kAnyBit);
  }

  /// `all`: a broadcast. False: the transaction has no room to note another wake.
  static bool notify_or_defer(ConditionState& state, TransactionContext& me, bool all) {
    if (!me.inside()) {
      notify(state, all);
      return true;
    }
    if (!has_waiters(state)) return true;  // the read keeps it true until the commit
    const std::uint32_t raised = state.sequence.load(std::memory_order_relaxed) + 1;
    state.sequence.store(raised, std::memory_order_relaxed);
    return me.defer({&state.sequence, raised, all});
  }

  /// Outside of transactions.
  static void notify(ConditionState& state, bool all) {
    // The waiter's section came before, so its count is visible.
    if (!has_waiters(state)) return;
    wake({&state.sequence, state.sequence.fetch_add(1, std::memory_order_release) + 1, all});
  }

  /// After the commit: sends the wakes that the transaction noted.
  static void send_deferred(TransactionContext& me) {
    // A copy, since a signal handler may interrupt this and use the list.
    DeferredSignal noted[TransactionContext::kMostDeferred];
    const std::uint32_t count = me.deferred_count;
    for (std::uint32_t i = 0; i < count; ++i) noted[i] = me.deferred[i];
    me.deferred_count = 0;
    for (std::uint32_t i = 0; i < count; ++i) wake(noted[i]);
  }

  static bool has_waiters(const ConditionState& state) {
    return (current(state.waiters.load(std::memory_order_relaxed)) & kCount) != 0;
  }

  /// Returns when all waiters have withdrawn. Never returns while one sleeps.
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
  // `waiters`: their number, whether a destroyer waits for them to leave, and above that the fork generation.
  static constexpr std::uint32_t kCount = (1u << 19) - 1;  // more than a process can have threads
  static constexpr std::uint32_t kDestroyerWaits = kCount + 1;
  static constexpr std::uint32_t kGenerationUnit = 2 * kDestroyerWaits;

  /// The word without waiters of a fork's parent.
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
  /// The calling thread is in the section of `words` before and after. False: the deadline passed first. True
  /// may also be a spurious wake-up.
  template <class C>
  static bool wait(ConditionState& state, LockWords words, C caller, const Deadline* deadline) {
    TransactionContext& me = caller.transaction();
    // The commit would release the other locks that the transaction elides.
    if (me.inside() && !me.has_only(words.word)) Design::require_real_locks(me);
    const std::uint32_t seen = ConditionQueue::enrol(state, me);
    const bool elided = Design::elided_entry(words, me) != nullptr;
    Design::leave(words, me);
    const ActivityAt activity = caller.activity();
    if (!elided) activity.thread->release();
    activity.begin(abi::Activity::kBlocked);
    const bool in_time = ConditionQueue::sleep(state, seen, deadline);
    activity.end();
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
