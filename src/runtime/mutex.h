// SPDX-License-Identifier: Apache-2.0
// pthread mutexes over a lock design: types, error codes and timeouts as POSIX and glibc have them.
//
// Robust, priority, process-shared and destroyed mutexes are glibc's; each function checks that first. A
// mutex is always ours or always glibc's, since its kind never changes.
//
// Locking a normal mutex twice is a deadlock even if it is elided: the transaction aborts, and the thread
// waits for itself as it would without elision.
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

using locks::Entry;
using locks::LockWords;

template <class Design>
class Mutex {
 public:
  static int lock(pthread_mutex_t* raw, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    const MutexKind kind(mutex.kind);
    ThreadState& thread = this_thread;
    if (!may_attempt(mutex, kind, thread, site)) return lock_slow(raw, kind, site, {}, nullptr);
    Attempt attempt;
    if constexpr (Design::kElides) {
      thread.activity->begin(abi::Activity::kAttempt, raw, site);
      if (!Design::attempt_once(words_of(mutex), thread.transaction, attempt)) [[unlikely]]
        return lock_again_elided(raw, kind, site, attempt);
    } else {
      const std::uint64_t before = thread.activity->position;
      if (!Design::attempt(words_of(mutex), thread.transaction, process.configuration.parameters, attempt))
        return lock_slow(raw, kind, site, attempt, nullptr);
      note_taken(thread, raw, site, before);
      if (!kind.is_plain()) become_owner(mutex, kind, thread.thread_id);
    }
    return 0;
  }

  /// The rest of lock() for a plain mutex of a FIFO design, of which the thread has drawn `ticket`.
  static int wait(pthread_mutex_t* raw, const void* site, std::uint32_t ticket) {
    return lock_slow(raw, MutexKind(PTHREAD_MUTEX_NORMAL), site, {ticket}, nullptr);
  }

  static int clocklock(pthread_mutex_t* raw, clockid_t clock, const timespec* at, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    const MutexKind kind(mutex.kind);
    if (!kind.is_ours()) return glibc_clocklock(raw, clock, at);
    if (!is_clock_to_wait_by(clock)) return EINVAL;
    if (!is_valid(at)) {
      // POSIX: an invalid deadline matters only if the call must wait.
      const int result = trylock(raw, site);
      if (result != EBUSY) return result;
      return kind.is_error_checking() && is_mine(mutex) ? EDEADLK : EINVAL;
    }
    const Deadline deadline{clock, at};
    return lock_slow(raw, kind, site, {}, &deadline);
  }

  static int trylock(pthread_mutex_t* raw, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    const MutexKind kind(mutex.kind);
    if (!kind.is_ours()) return glibc.mutex_trylock(raw);
    const LockWords words = words_of(mutex);
    if (Design::speculating()) return Design::is_held(words) ? EBUSY : 0;
    if (kind.is_recursive() && is_mine(mutex)) return lock_again(mutex);
    const CallerAt caller(&mutex, site);
    switch (Design::try_enter(words, caller)) {
      case Entry::kHolding:
        become_owner(mutex, kind, caller.thread_id());
        return 0;
      case Entry::kElided:
        return 0;
      case Entry::kOwn:
        if (!kind.is_recursive()) return EBUSY;
        ++Design::elided_entry(words, caller.transaction())->depth;
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
      if (Design::leave_quickly(words_of(mutex), thread.transaction)) [[likely]]
        return 0;
    } else if (!Design::speculating()) {
      if (kind.is_plain()) return release(mutex, site);
      if (thread.is_known && is_of(mutex, thread))
        return kind.is_recursive() && --mutex.count != 0 ? 0 : release(mutex, site);
    }
    return unlock_slow(mutex, kind, site);
  }

  static bool is_held(pthread_mutex_t* raw) {
    MutexOverlay& mutex = overlay_of(raw);
    return MutexKind(mutex.kind).is_ours() && Design::is_held(words_of(mutex));
  }

  static int destroy(pthread_mutex_t* raw, const void* site) {
    MutexOverlay& mutex = overlay_of(raw);
    if (MutexKind(mutex.kind).is_ours() && Design::is_held(words_of(mutex))) {
      Design::require_real_locks(this_thread.transaction);
      return refuse(Misuse::kDestroyOfHeld, raw, site, EBUSY);
    }
    return glibc.mutex_destroy(raw);
  }

 private:
  using Attempt = typename Design::Attempt;

  /// Whether lock() may make the first attempt inline, because only the design decides its outcome.
  [[gnu::always_inline]] static bool may_attempt(MutexOverlay& mutex, MutexKind kind, ThreadState& thread,
                                                 const void* site) {
    if constexpr (Design::kElides) {
      if (!kind.is_plain() || thread.short_lock != &mutex || thread.short_site != site ||
          thread.transaction.inside())
        return false;
    } else {
      if (!thread.is_known || (!kind.is_plain() && (!kind.is_ours() || is_of(mutex, thread)))) return false;
    }
    return !Design::speculating() && Design::may_attempt(words_of(mutex));
  }

  /// After a first transaction that aborted. Out of line, for lock() to need no stack frame.
  [[gnu::noinline]] static int lock_again_elided(pthread_mutex_t* raw, MutexKind kind, const void* site,
                                                 Attempt attempt) {
    if (Design::attempt_again(words_of(overlay_of(raw)), this_thread.transaction,
                              process.configuration.parameters, attempt))
      return 0;
    return lock_slow(raw, kind, site, attempt, nullptr);
  }

  /// Everything but an inline attempt that succeeds. Out of line, since it needs a stack frame, but not cold.
  /// `kind` was read before the attempt: a speculation that begins here must not read the mutex, or every
  /// change of the lock would abort it.
  [[gnu::noinline]] static int lock_slow(pthread_mutex_t* raw, MutexKind kind, const void* site,
                                         Attempt attempt, const Deadline* deadline) {
    MutexOverlay& mutex = overlay_of(raw);
    if (!attempt.was_made()) [[likely]] {
      if (!kind.is_ours()) [[unlikely]]
        return glibc.mutex_lock(raw);
      if (Design::speculating()) [[unlikely]]
        return 0;
      if (!kind.is_plain() && is_mine(mutex)) {
        if (kind.is_recursive()) return lock_again(mutex);
        if (kind.is_error_checking()) return EDEADLK;
      }
    }
    const CallerAt caller(raw, site);
    switch (Design::enter(words_of(mutex), caller, deadline, attempt)) {
      case Entry::kHolding:
        become_owner(mutex, kind, caller.thread_id());
        return 0;
      case Entry::kElided:
        if (kind.is_plain()) caller.open_short_way();
        return 0;
      case Entry::kOwn:
        return lock_own_elided(mutex, kind, caller);
      case Entry::kTimedOut:
        return ETIMEDOUT;
      default:
        return 0;
    }
  }

  /// Everything but an elided mutex that is the transaction's only one, and a mutex that is held for real.
  [[gnu::noinline]] static int unlock_slow(MutexOverlay& mutex, MutexKind kind, const void* site) {
    if (Design::speculating()) [[unlikely]] {
      end_speculation_at_unlock<Design>();
      return 0;
    }
    const LockWords words = words_of(mutex);
    if (Design::elided_entry(words, this_thread.transaction) != nullptr) {
      (void)Design::leave(words, this_thread.transaction);
      return 0;
    }
    if (kind.is_recursive() || kind.is_error_checking()) {
      if (!is_mine(mutex)) {
        Design::require_real_locks(this_thread.transaction);  // an abort would undo the report
        return refuse(Misuse::kUnlockOfFree, &mutex, site, EPERM);
      }
      if (kind.is_recursive() && --mutex.count != 0) return 0;
    }
    give_up_ownership(mutex);
    return release_slow(mutex, site);
  }

  /// Of plain mutexes too: glibc writes the owner when it takes one after a wait, and asserts that it is 0.
  static void give_up_ownership(MutexOverlay& mutex) { mutex.owner.store(0, std::memory_order_relaxed); }

  /// Releases a mutex of a design without elision that is plain or held once.
  [[gnu::always_inline]] static int release(MutexOverlay& mutex, const void* site) {
    const std::uint64_t before = this_thread.activity->position;
    give_up_ownership(mutex);
    if (!Design::leave_quickly(words_of(mutex), this_thread.transaction)) return release_slow(mutex, site);
    this_thread.activity->release(before);
    return 0;
  }
  [[gnu::noinline]] static int release_slow(MutexOverlay& mutex, const void* site) {
    if (!Design::leave(words_of(mutex), this_thread.transaction)) [[unlikely]]
      return report_misuse(Misuse::kUnlockOfFree, &mutex, site), 0;
    note_released(this_thread);
    return 0;
  }

  /// The current transaction already elides this mutex.
  static int lock_own_elided(MutexOverlay& mutex, MutexKind kind, CallerAt caller) {
    if (kind.is_error_checking()) return EDEADLK;
    if (!kind.is_recursive()) Design::require_real_locks(caller.transaction());  // and deadlock for real
    ++Design::elided_entry(words_of(mutex), caller.transaction())->depth;
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
