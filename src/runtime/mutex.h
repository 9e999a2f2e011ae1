// SPDX-License-Identifier: Apache-2.0
// pthread mutexes over a lock design: types, error codes and timeouts as POSIX and glibc have them.
//
// Robust, priority and process-shared mutexes, and destroyed ones, are glibc's: each function asks
// that first. A mutex never changes hands between us and glibc, since its kind never changes.
//
// Locking a normal mutex twice is a deadlock, also when it is elided: then the transaction ends and
// the thread waits for itself, as it would have without elision.
#pragma once

#include <cerrno>
#include <climits>

#include "locks/designs.h"
#include "runtime/caller.h"
#include "runtime/deadline.h"
#include "runtime/entry_points.h"
#include "runtime/glibc.h"
#include "runtime/overlay.h"

namespace elision::runtime {

using locks::Cell;
using locks::Entry;

template <class Design>
class Mutex {
 public:
  static int lock(pthread_mutex_t* raw, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    ThreadState& thread = this_thread;
    const MutexKind kind(mutex.kind);
    if constexpr (!Design::kElides) {
      if (thread.slot == nullptr || (!kind.is_plain() && (!kind.is_ours() || is_of(mutex, thread))) ||
          Design::speculating() || !Design::may_arrive(cell_of(mutex)))
        return lock_out_of_line(raw, site);
      typename Design::Arrival arrival;
      if (!Design::arrive(cell_of(mutex), arrival)) return go_on(arrival, mutex, kind, site);
      count_uncontended(thread);
      if (!kind.is_plain()) become_owner(mutex, kind, thread.thread_id);
      return 0;
    } else {
      if (!kind.is_plain() || thread.short_lock != raw || thread.short_site != site ||
          thread.transaction.inside() || Design::speculating() || !Design::Algorithm::may_try(cell_of(mutex)))
        return lock_out_of_line(raw, site);
      const auto tried = Design::Algorithm::try_at_once(cell_of(mutex), thread.transaction,
                                                        process.configuration.parameters);
      return tried.status.started() ? 0 : go_on(tried, mutex, kind, site);
    }
  }

  static int clocklock(pthread_mutex_t* raw, clockid_t clock, const timespec* at, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    const MutexKind kind(mutex.kind);
    if (!kind.is_ours()) return glibc_clocklock(raw, clock, at);
    if (!is_clock_to_wait_by(clock)) return EINVAL;
    if (!is_valid(at)) {
      // Invalid only matters to POSIX if the call would have to wait.
      const int result = trylock(raw, site);
      if (result != EBUSY) return result;
      return kind.is_error_checking() && is_mine(mutex) ? EDEADLK : EINVAL;
    }
    const Deadline deadline{clock, at};
    return lock_until(mutex, kind, site, &deadline);
  }

  static int trylock(pthread_mutex_t* raw, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    const MutexKind kind(mutex.kind);
    if (!kind.is_ours()) return glibc.mutex_trylock(raw);
    const Cell cell = cell_of(mutex);
    if (Design::speculating()) return Design::is_held(cell) ? EBUSY : 0;
    if (kind.is_recursive() && is_mine(mutex)) return lock_again(mutex);
    const CallerAt caller(&mutex, site);
    switch (Design::try_enter(cell, caller)) {
      case Entry::kHolding:
        become_owner(mutex, kind, caller.thread_id());
        return 0;
      case Entry::kElided:
        return 0;
      case Entry::kOwn:
        if (!kind.is_recursive()) return EBUSY;
        ++Design::pretends(cell, caller.transaction())->depth;
        return 0;
      default:
        return EBUSY;
    }
  }

  static int unlock(pthread_mutex_t* raw, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    const MutexKind kind(mutex.kind);
    if (!kind.is_ours()) [[unlikely]]
      return glibc.mutex_unlock(raw);
    ThreadState& thread = this_thread;
    if constexpr (Design::kElides) {
      if (Design::leave_quickly(cell_of(mutex), thread.transaction)) [[likely]]
        return 0;
    } else if (!Design::speculating()) {
      if (kind.is_plain()) return release(mutex, raw, site);
      if (thread.slot != nullptr && is_of(mutex, thread))
        return kind.is_recursive() && --mutex.count != 0 ? 0 : release(mutex, raw, site);
    }
    return leave_out_of_line(mutex, kind, raw, site);
  }

  static bool is_held(pthread_mutex_t* raw) {
    MutexOverlay& mutex = overlay_of(raw);
    return MutexKind(mutex.kind).is_ours() && Design::is_held(cell_of(mutex));
  }

  static int destroy(pthread_mutex_t* raw, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    if (MutexKind(mutex.kind).is_ours() && Design::is_held(cell_of(mutex))) {
      Design::require_real_locks(this_thread.transaction);
      return refuse(Misuse::kDestroyOfHeld, raw, site, EBUSY);
    }
    return glibc.mutex_destroy(raw);
  }

 private:
  [[gnu::always_inline]] static int lock_any(pthread_mutex_t* raw, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    const MutexKind kind(mutex.kind);
    if (!kind.is_ours()) [[unlikely]]
      return glibc.mutex_lock(raw);
    return lock_until(mutex, kind, site, nullptr);
  }

  // What the short ways leave out of line needs a stack frame, and so would they.
  [[gnu::noinline]] static int lock_out_of_line(pthread_mutex_t* raw, const void* site) {
    return lock_any(raw, site);
  }
  [[gnu::noinline]] static int leave_out_of_line(MutexOverlay& mutex, MutexKind kind, pthread_mutex_t* raw,
                                                 const void* site) {
    return leave(mutex, kind, raw, site);
  }

  /// The short way's tries, or its arrival, failed. `kind` comes from before: a speculation that begins here
  /// must not read the mutex, or every step of the lock would end it.
  template <class Tried>
  [[gnu::noinline]] static int go_on(Tried tried, MutexOverlay& mutex, MutexKind kind, const void* site) {
    const CallerAt caller(&mutex, site);
    const Entry entry = Design::go_on(tried, cell_of(mutex), caller, nullptr);
    return entry == Entry::kElided ? 0 : conclude(entry, mutex, kind, caller);
  }

  [[gnu::always_inline]] static int lock_until(MutexOverlay& mutex, MutexKind kind, const void* site,
                                               const Deadline* deadline) {
    if (!Design::speculating() && !kind.is_plain() && is_mine(mutex)) {
      if (kind.is_recursive()) return lock_again(mutex);
      if (kind.is_error_checking()) return EDEADLK;
    }
    return enter(mutex, kind, site, deadline);
  }

  [[gnu::always_inline]] static int enter(MutexOverlay& mutex, MutexKind kind, const void* site,
                                          const Deadline* deadline) {
    if (Design::speculating()) [[unlikely]]
      return 0;
    const CallerAt caller(&mutex, site);
    const Entry entry = Design::enter(cell_of(mutex), caller, deadline);
    if (entry == Entry::kHolding) [[likely]] {
      become_owner(mutex, kind, caller.thread_id());
      return 0;
    }
    return conclude(entry, mutex, kind, caller);
  }

  [[gnu::noinline]] static int conclude(Entry entry, MutexOverlay& mutex, MutexKind kind, CallerAt caller) {
    switch (entry) {
      case Entry::kHolding:
        become_owner(mutex, kind, caller.thread_id());
        return 0;
      case Entry::kTimedOut:
        return ETIMEDOUT;
      case Entry::kOwn:
        return lock_own_elided(mutex, kind, caller);
      case Entry::kElided:
        if (kind.is_plain()) caller.open_short_way();
        return 0;
      default:
        return 0;
    }
  }

  [[gnu::always_inline]] static int leave(MutexOverlay& mutex, MutexKind kind, pthread_mutex_t* raw,
                                          const void* site) {
    if (Design::speculating()) [[unlikely]] {
      end_speculation_at_unlock<Design>();
      return 0;
    }
    const Cell cell = cell_of(mutex);
    if (Design::pretends(cell, this_thread.transaction) == nullptr) {
      if (kind.is_recursive() || kind.is_error_checking()) {
        if (!is_mine(mutex)) {
          Design::require_real_locks(this_thread.transaction);  // what is noted must stay noted
          return refuse(Misuse::kUnlockOfFree, raw, site, EPERM);
        }
        if (kind.is_recursive() && --mutex.count != 0) return 0;
      }
      give_up_ownership(mutex);
    }
    return leave_any(mutex, raw, site);
  }

  /// Plain mutexes too: glibc leaves its mark when it takes one after a wait, and asserts to find none.
  static void give_up_ownership(MutexOverlay& mutex) { mutex.owner.store(0, std::memory_order_relaxed); }

  /// The short way of designs that elide nothing, out of a mutex that is held once, or plain.
  [[gnu::always_inline]] static int release(MutexOverlay& mutex, pthread_mutex_t* raw, const void* site) {
    give_up_ownership(mutex);
    return Design::leave_quickly(cell_of(mutex), this_thread.transaction) ? 0 : leave_any(mutex, raw, site);
  }
  [[gnu::noinline]] static int leave_any(MutexOverlay& mutex, pthread_mutex_t* raw, const void* site) {
    if (!Design::leave(cell_of(mutex), this_thread.transaction)) [[unlikely]]
      report_misuse(Misuse::kUnlockOfFree, raw, site);
    return 0;
  }

  /// The transaction under way elides this very mutex.
  static int lock_own_elided(MutexOverlay& mutex, MutexKind kind, CallerAt caller) {
    if (kind.is_error_checking()) return EDEADLK;
    if (!kind.is_recursive()) Design::require_real_locks(caller.transaction());  // and deadlock for real
    ++Design::pretends(cell_of(mutex), caller.transaction())->depth;
    return 0;
  }

  static bool is_of(const MutexOverlay& mutex, const ThreadState& thread) {
    return mutex.owner.load(std::memory_order_relaxed) == thread.thread_id;
  }
  static bool is_mine(const MutexOverlay& mutex) { return is_of(mutex, known_thread()); }

  static int lock_again(MutexOverlay& mutex) {
    if (mutex.count == UINT_MAX) return EAGAIN;
    ++mutex.count;
    return 0;
  }

  static void become_owner(MutexOverlay& mutex, MutexKind kind, int thread_id) {
    if (!kind.is_recursive() && !kind.is_error_checking()) return;
    mutex.owner.store(thread_id, std::memory_order_relaxed);
    mutex.count = 1;
  }
};

}  // namespace elision::runtime
