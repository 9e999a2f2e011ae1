// SPDX-License-Identifier: Apache-2.0
// pthread reader-writer locks over a lock design. Readers share (locks/rwlock.h), or with
// ELISION_RWLOCK=exclusive all threads use the mutex design, as in the AAHTM paper's runs of Kyoto Cabinet.
//
// Error codes are glibc's: EDEADLK for a thread that is the writer, EINVAL for a bad deadline even without a
// wait. Exclusive: EDEADLK for a thread that is inside and wants to write. A thread that is inside and wants
// to read enters again, since it is not recorded whether it came as reader or writer. Process-shared locks
// are glibc's.
//
// pthread_rwlock_unlock does not say which side it leaves. An eliding transaction knows. Otherwise the state
// tells, since a writer is alone.
#pragma once

#include <cerrno>
#include <type_traits>

#include "locks/designs.h"
#include "runtime/caller.h"
#include "runtime/deadline.h"
#include "runtime/entry_points.h"
#include "runtime/glibc.h"
#include "runtime/overlay.h"

namespace elision::runtime {

using locks::Entry;
using locks::LockWords;

enum class RwMode { kShared, kExclusive };

template <class Design, RwMode kMode>
class Rwlock {
  static constexpr bool kExclusive = kMode == RwMode::kExclusive;
  template <bool kToRead>
  using Side = std::conditional_t<
      kExclusive, Design,
      std::conditional_t<kToRead, typename Design::ReaderSide, typename Design::WriterSide>>;
  using Reader = Side<true>;
  using Writer = Side<false>;

 public:
  static int rdlock(pthread_rwlock_t* raw, const void* site) {
    RwlockOverlay& lock = overlay_of(raw);
    return lock.is_ours() ? enter<true>(lock, site, nullptr) : glibc.rwlock_rdlock(raw);
  }
  static int wrlock(pthread_rwlock_t* raw, const void* site) {
    RwlockOverlay& lock = overlay_of(raw);
    return lock.is_ours() ? enter<false>(lock, site, nullptr) : glibc.rwlock_wrlock(raw);
  }
  static int tryrdlock(pthread_rwlock_t* raw, const void* site) {
    RwlockOverlay& lock = overlay_of(raw);
    return lock.is_ours() ? try_enter<true>(lock, site) : glibc.rwlock_tryrdlock(raw);
  }
  static int trywrlock(pthread_rwlock_t* raw, const void* site) {
    RwlockOverlay& lock = overlay_of(raw);
    return lock.is_ours() ? try_enter<false>(lock, site) : glibc.rwlock_trywrlock(raw);
  }
  static int clockrdlock(pthread_rwlock_t* raw, clockid_t clock, const timespec* at, const void* site) {
    RwlockOverlay& lock = overlay_of(raw);
    return lock.is_ours() ? enter_until<true>(lock, clock, at, site) : glibc_clockrdlock(raw, clock, at);
  }
  static int clockwrlock(pthread_rwlock_t* raw, clockid_t clock, const timespec* at, const void* site) {
    RwlockOverlay& lock = overlay_of(raw);
    return lock.is_ours() ? enter_until<false>(lock, clock, at, site) : glibc_clockwrlock(raw, clock, at);
  }

  static int unlock(pthread_rwlock_t* raw, const void* site) {
    RwlockOverlay& lock = overlay_of(raw);
    if (!lock.is_ours()) return glibc.rwlock_unlock(raw);
    if (Design::speculating()) [[unlikely]] {
      end_speculation_at_unlock<Design>();
      return 0;
    }
    if (!leave(lock, this_thread.transaction)) [[unlikely]]
      report_misuse(Misuse::kUnlockOfFree, raw, site);
    return 0;
  }

  static int destroy(pthread_rwlock_t* raw, const void* site) {
    RwlockOverlay& lock = overlay_of(raw);
    if (lock.is_ours() && is_inside(lock)) report_misuse(Misuse::kDestroyOfHeld, raw, site);
    return glibc.rwlock_destroy(raw);  // which never refuses
  }

 private:
  static constexpr int kNotInside = -1;

  static std::uint32_t state_of(const RwlockOverlay& lock) {
    return static_cast<std::uint32_t>(lock.state.load(std::memory_order_relaxed));
  }
  /// Whether a thread holds it for real.
  static bool is_inside(RwlockOverlay& lock) {
    if constexpr (kExclusive) return Design::is_held(words_of(lock));
    return (state_of(lock) & (locks::kReaders | locks::kWriter)) != 0;
  }

  static bool leave(RwlockOverlay& lock, locks::TransactionContext& me) {
    const LockWords words = words_of(lock);
    if (Writer::elided_entry(words, me) != nullptr) return Writer::leave(words, me);
    if (!kExclusive && (state_of(lock) & locks::kWriter) == 0) return left(Reader::leave(words, me));
    if (kExclusive && lock.depth > 0) {
      --lock.depth;
      return true;
    }
    lock.writer.store(0, std::memory_order_relaxed);
    return left(Writer::leave(words, me));
  }
  /// Passes on whether a lock that was taken for real has been left.
  static bool left(bool was_held) {
    if (was_held) note_released(this_thread);
    return was_held;
  }

  template <bool kToRead>
  static int enter_until(RwlockOverlay& lock, clockid_t clock, const timespec* at, const void* site) {
    if (!is_clock_to_wait_by(clock) || !is_valid(at)) return EINVAL;
    const Deadline deadline{clock, at};
    return enter<kToRead>(lock, site, &deadline);
  }

  template <bool kToRead>
  static int enter(RwlockOverlay& lock, const void* site, const Deadline* deadline) {
    if (Design::speculating()) [[unlikely]]
      return 0;
    const CallerAt caller(&lock, site);
    if (const int result = enter_again<kToRead>(lock, caller); result != kNotInside) return result;
    switch (Side<kToRead>::enter(words_of(lock), caller, deadline)) {
      case Entry::kHolding:
        become_writer<kToRead>(lock, caller);
        return 0;
      case Entry::kTimedOut:
        return ETIMEDOUT;
      case Entry::kOwn:
        return enter_own_elided<kToRead>(lock, caller);
      default:
        return 0;
    }
  }

  template <bool kToRead>
  static int try_enter(RwlockOverlay& lock, const void* site) {
    if (Design::speculating()) [[unlikely]]
      return Side<kToRead>::is_held(words_of(lock)) ? EBUSY : 0;
    const CallerAt caller(&lock, site);
    if (const int result = enter_again<kToRead>(lock, caller); result != kNotInside)
      return result == EDEADLK ? EBUSY : result;
    switch (Side<kToRead>::try_enter(words_of(lock), caller)) {
      case Entry::kHolding:
        become_writer<kToRead>(lock, caller);
        return 0;
      case Entry::kBusy:
        return EBUSY;
      case Entry::kOwn:
        return kToRead && enter_own_elided<true>(lock, caller) == 0 ? 0 : EBUSY;
      default:
        return 0;
    }
  }

  /// The result for a thread that is already inside as writer, or when no more readers can be counted.
  /// Exclusive: a reader that enters again is counted.
  template <bool kToRead>
  static int enter_again(RwlockOverlay& lock, CallerAt caller) {
    if (lock.writer.load(std::memory_order_relaxed) == caller.thread_id()) {
      if (!kExclusive || !kToRead) return EDEADLK;
      ++lock.depth;
      return 0;
    }
    if (!kExclusive && kToRead && (state_of(lock) & locks::kReaders) == locks::kReaders) return EAGAIN;
    return kNotInside;
  }

  /// The current transaction already elides this lock. A reader may enter again. A reader that wants to write
  /// would deadlock with itself; that deadlock then happens outside of the transaction.
  template <bool kToRead>
  static int enter_own_elided(RwlockOverlay& lock, CallerAt caller) {
    locks::ElidedLock* mine = Writer::elided_entry(words_of(lock), caller.transaction());
    if (mine->writes && !(kExclusive && kToRead)) return EDEADLK;
    if (!kToRead) Design::require_real_locks(caller.transaction());
    ++mine->depth;
    return 0;
  }

  template <bool kToRead>
  static void become_writer(RwlockOverlay& lock, CallerAt caller) {
    if constexpr (kExclusive || !kToRead) lock.writer.store(caller.thread_id(), std::memory_order_relaxed);
  }
};

}  // namespace elision::runtime
