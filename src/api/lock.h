// SPDX-License-Identifier: Apache-2.0
// The operations that every lock of this library has, over an elided design and the same words without
// transactions, with the codes of elision.h.
#pragma once

#include <cerrno>

#include "api/process.h"

namespace elision::api {

template <class Eliding, class NotEliding>
struct Lock {
  /// False: the deadline passed.
  [[gnu::always_inline]] static bool enter(locks::Cell cell, const locks::Deadline* deadline) {
    return is_inside(elides() ? Eliding::enter(cell, Self(), deadline)
                              : NotEliding::enter(cell, Self(), deadline));
  }

  static int try_enter(locks::Cell cell) {
    const locks::Entry entry =
        elides() ? Eliding::try_enter(cell, Self()) : NotEliding::try_enter(cell, Self());
    return entry == locks::Entry::kBusy || entry == locks::Entry::kOwn ? EBUSY : 0;
  }

  static int enter_until(locks::Cell cell, int clock, const timespec* until) {
    if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || until->tv_nsec < 0 ||
        until->tv_nsec >= 1000000000)
      return EINVAL;
    const locks::Deadline deadline{clock, until};
    return enter(cell, &deadline) ? 0 : ETIMEDOUT;
  }

  /// Also what was really taken, with or without transactions: then no transaction runs, or it began later.
  [[gnu::always_inline]] static int leave(locks::Cell cell) {
    if (Eliding::leave_only(cell, this_thread.transaction)) [[likely]]
      return 0;
    return Eliding::leave(cell, this_thread.transaction) ? 0 : EPERM;
  }
};

inline std::atomic<int>* word_at(int* word) { return reinterpret_cast<std::atomic<int>*>(word); }
static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);

using MutexLock = Lock<Elided, Plain>;

}  // namespace elision::api
