// SPDX-License-Identifier: Apache-2.0
// pthread-aahtm (AAHTM paper, Fig. 3): glibc's own locks, whose waiters speculate. Types, owners and words
// are glibc's; the speculating wait (locks/speculating_wait.h) calls its try and lock functions. Without
// always-abort transactions the waiters wait `Plainly`. Both count the same sections as designs with mutexes
// of their own: those of locks that such a design would replace, and only the outermost of a recursive mutex.
#pragma once

#include <cerrno>

#include "locks/designs.h"
#include "runtime/caller.h"
#include "runtime/deadline.h"
#include "runtime/glibc.h"
#include "runtime/overlay.h"

namespace elision::runtime {

/// Whether glibc would accept the deadline and it has not passed.
inline bool lies_ahead(clockid_t clock, const timespec* at) {
  return is_clock_to_wait_by(clock) && is_valid(at) && !Deadline{clock, at}.has_passed();
}

template <class How, class Waiting_>
struct GlibcSpeculating : How {
  using Waiting = Waiting_;
  using OnSpinWord = locks::WordDesign<locks::SpinWord<Waiting>, How>;
  static constexpr bool kGlibcMayLock = true;
  static void require_real_locks(const locks::TransactionContext&) { How::end_speculation(); }

  struct OnMutex {
    static int lock(pthread_mutex_t* raw, const void* site) {
      return enter<OnMutex>(
          raw, site, glibc.mutex_trylock, [] { return true; }, [raw] { return glibc.mutex_lock(raw); });
    }
    static int clocklock(pthread_mutex_t* raw, clockid_t clock, const timespec* at, const void* site) {
      return enter<OnMutex>(
          raw, site, glibc.mutex_trylock, [=] { return lies_ahead(clock, at); },
          [=] { return glibc_clocklock(raw, clock, at); });
    }
    static bool is_held(pthread_mutex_t* raw) {
      return overlay_of(raw).word.load(std::memory_order_relaxed) != 0;
    }
    static int trylock(pthread_mutex_t* raw, const void* site) {
      if (How::speculating()) return is_held(raw) ? EBUSY : 0;
      const bool begins = begins_section(raw);
      const int result = glibc.mutex_trylock(raw);
      return begins ? counted(result, raw, site) : result;
    }
    static int unlock(pthread_mutex_t* raw, const void*) {
      if (ended_speculation()) return 0;
      const MutexOverlay& mutex = overlay_of(raw);
      const MutexKind kind(mutex.kind);
      const bool ends_section = kind.is_ours() && (!kind.is_recursive() || mutex.count == 1);
      const std::uint64_t before = this_thread.activity->position;
      if (kind.is_normal()) return leave([=] { return glibc.mutex_unlock(raw); }, before);
      const int result = glibc.mutex_unlock(raw);
      if (result == 0 && ends_section) this_thread.activity->release(before);
      return result;
    }
    static int destroy(pthread_mutex_t* raw, const void* site) {
      const int result = glibc.mutex_destroy(raw);
      return result == EBUSY ? refuse(Misuse::kDestroyOfHeld, raw, site, result) : result;
    }

    /// False for robust and priority mutexes, and for one that the caller holds.
    static bool begins_section(pthread_mutex_t* raw) {
      const MutexOverlay& mutex = overlay_of(raw);
      return MutexKind(mutex.kind).is_ours() &&
             mutex.owner.load(std::memory_order_relaxed) != known_thread().thread_id;
    }
  };

  struct OnRwlock {
    static int rdlock(pthread_rwlock_t* raw, const void* site) {
      if constexpr (!How::kSpeculates)
        return enter_as_reader(raw, site, [raw] { return glibc.rwlock_rdlock(raw); });
      return enter<OnRwlock>(
          raw, site, glibc.rwlock_tryrdlock, [] { return true; }, [raw] { return glibc.rwlock_rdlock(raw); });
    }
    static int wrlock(pthread_rwlock_t* raw, const void* site) {
      return enter<OnRwlock>(
          raw, site, glibc.rwlock_trywrlock, [] { return true; }, [raw] { return glibc.rwlock_wrlock(raw); });
    }
    static int clockrdlock(pthread_rwlock_t* raw, clockid_t clock, const timespec* at, const void* site) {
      if constexpr (!How::kSpeculates)
        return enter_as_reader(raw, site, [=] { return glibc_clockrdlock(raw, clock, at); });
      return enter<OnRwlock>(
          raw, site, glibc.rwlock_tryrdlock, [=] { return lies_ahead(clock, at); },
          [=] { return glibc_clockrdlock(raw, clock, at); });
    }
    static int clockwrlock(pthread_rwlock_t* raw, clockid_t clock, const timespec* at, const void* site) {
      return enter<OnRwlock>(
          raw, site, glibc.rwlock_trywrlock, [=] { return lies_ahead(clock, at); },
          [=] { return glibc_clockwrlock(raw, clock, at); });
    }
    static int tryrdlock(pthread_rwlock_t* raw, const void* site) {
      return How::speculating() ? 0 : counted(glibc.rwlock_tryrdlock(raw), raw, site);
    }
    static int trywrlock(pthread_rwlock_t* raw, const void* site) {
      return How::speculating() ? 0 : counted(glibc.rwlock_trywrlock(raw), raw, site);
    }
    static int unlock(pthread_rwlock_t* raw, const void*) {
      if (ended_speculation()) return 0;
      const std::uint64_t before = this_thread.activity->position;
      return leave([=] { return glibc.rwlock_unlock(raw); }, before);
    }
    static int destroy(pthread_rwlock_t* raw, const void*) { return glibc.rwlock_destroy(raw); }

    /// False if the caller is the writer.
    static bool begins_section(pthread_rwlock_t* raw) {
      return overlay_of(raw).writer.load(std::memory_order_relaxed) != known_thread().thread_id;
    }
  };

 private:
  /// Takes a lock of glibc's. Tries it until the result is not EBUSY, speculating between tries, and then
  /// calls `wait`. If it may not wait (`may_wait`), calls `wait` at once. All functions return error numbers.
  template <class On, class Object, class MayWait, class Wait>
  static int enter(Object* raw, const void* site, int (*try_lock)(Object*), MayWait may_wait, Wait wait) {
    if (How::speculating()) return 0;
    if (!On::begins_section(raw)) return wait();
    if (!may_wait()) return counted(wait(), raw, site);
    ThreadState& thread = known_thread();
    const std::uint64_t before = thread.activity->position;
    int result = try_lock(raw);
    if (result == 0) [[likely]]
      note_taken(thread, raw, site, before);
    if (result != EBUSY) return result;
    const CallerAt caller(raw, site);
    const locks::Recorder recorder = caller.recorder();
    locks::WaitClock clock;
    caller.activity().begin(abi::Activity::kWaiting);
    clock.start();
    recorder.busy();
    if constexpr (How::kSpeculates) {
      for (std::uint32_t tries = 0; tries < caller.parameters().speculation_tries && result == EBUSY;
           ++tries) {
        if (How::speculate(recorder, caller.activity())) return 0;
        result = try_lock(raw);
      }
    }
    if (result == EBUSY) result = wait();
    if (result == 0) {
      (void)locks::took_after_wait(caller, recorder, clock);
    } else {
      caller.activity().end();
    }
    return result;
  }

  /// A reader that does not speculate. To look at the lock before glibc does would fetch its line twice,
  /// which makes readers half as fast. So a wait is not told from the rest of `take`, and all of it is noted
  /// as one.
  template <class Take>
  static int enter_as_reader(pthread_rwlock_t* raw, const void* site, Take take) {
    const CallerAt caller(raw, site);
    caller.activity().begin(abi::Activity::kWaiting);
    const int result = take();
    if (result == 0) {
      caller.took();
    } else {
      caller.activity().end();
    }
    return result;
  }

  /// Counts an acquisition without a wait, and passes the result on.
  template <class Object>
  static int counted(int result, Object* raw, const void* site) {
    if (result == 0) CallerAt(raw, site).took();
    return result;
  }

  /// An unlock that cannot fail. The section ends in front of it: a thread that wakes up another one may lose
  /// its CPU to it, when the lock has long been free.
  template <class Unlock>
  static int leave(Unlock unlock, std::uint64_t before) {
    this_thread.activity->release(before);
    return unlock();
  }

  /// True: the thread speculates, so unlock does nothing, or ends the speculation.
  static bool ended_speculation() {
    if (!How::speculating()) return false;
    end_speculation_at_unlock<How>();
    return true;
  }
};

}  // namespace elision::runtime
