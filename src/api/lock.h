// SPDX-License-Identifier: Apache-2.0
// The operations of every lock of this library, with the codes of elision.h: over an elided design, and over
// the same words without transactions.
#pragma once

#include <cerrno>

#include "api/process.h"

namespace elision::api {

inline bool is_valid_deadline(int clock, const timespec* until) {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && until->tv_nsec >= 0 &&
         until->tv_nsec < 1000000000;
}

template <class Eliding, class NotEliding>
struct Lock {
  /// False: the deadline passed. The first tries need no stack frame; everything else is out of line.
  [[gnu::always_inline]] static bool enter(locks::LockWords words, const locks::Deadline* deadline,
                                           const void* site) {
    locks::TransactionContext& me = this_thread.transaction;
    typename Eliding::Attempt attempt;
    if (this_thread.elides && !me.inside() && !locks::is_single_threaded() && Eliding::may_attempt(words))
        [[likely]] {
      const Self self(words.word, site);
      prepare_commit(me, self, self.recorder());
      self.activity().begin(abi::Activity::kAttempt);
      if (Eliding::attempt(words, me, process.parameters, attempt)) [[likely]]
        return true;
    }
    return enter_slow(words, deadline, attempt, site);
  }

  static int try_enter(locks::LockWords words, const void* site) {
    const Self self = self_at(words.word, site);
    const locks::Entry entry =
        elides() ? Eliding::try_enter(words, self) : NotEliding::try_enter(words, self);
    return entry == locks::Entry::kBusy || entry == locks::Entry::kOwn ? EBUSY : 0;
  }

  static int enter_until(locks::LockWords words, int clock, const timespec* until, const void* site) {
    if (!is_valid_deadline(clock, until)) return EINVAL;
    const locks::Deadline deadline{clock, until};
    return enter(words, &deadline, site) ? 0 : ETIMEDOUT;
  }

  /// Also leaves a lock that was taken. Then no transaction runs, or it began after the lock was taken.
  [[gnu::always_inline]] static int leave(locks::LockWords words) {
    if (Eliding::leave_quickly(words, this_thread.transaction)) [[likely]]
      return 0;
    return leave_slow(words);
  }

 private:
  [[gnu::noinline]] static bool enter_slow(locks::LockWords words, const locks::Deadline* deadline,
                                           typename Eliding::Attempt attempt, const void* site) {
    const Self self = self_at(words.word, site);
    return is_inside(elides() ? Eliding::enter(words, self, deadline, attempt)
                              : NotEliding::enter(words, self, deadline));
  }
  [[gnu::noinline]] static int leave_slow(locks::LockWords words) {
    const bool elided = Eliding::elided_entry(words, this_thread.transaction) != nullptr;
    if (!Eliding::leave(words, this_thread.transaction)) return EPERM;
    if (!elided) locks::note_released(*this_thread.activity, this_thread.transaction);
    return 0;
  }
};

inline std::atomic<int>* word_at(int* word) { return reinterpret_cast<std::atomic<int>*>(word); }
static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);

using MutexLock = Lock<Elided, Plain>;

}  // namespace elision::api
