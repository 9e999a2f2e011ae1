// SPDX-License-Identifier: Apache-2.0
// pthread_mutex_*. The short path: a plain mutex, a design whose lock is tatas, a thread that is known
// (one test of fast_slot covers the last two). Everything else goes through the table.
#include <pthread.h>

#include "locks/tatas.h"
#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/glibc.h"
#include "runtime/overlay.h"
#include "runtime/process.h"
#include "runtime/thread_state.h"

namespace {

using elision::runtime::entry_points;
using elision::runtime::fast_slot;
using elision::runtime::MutexKind;
using elision::runtime::MutexOverlay;
using elision::runtime::overlay_of;
using FastLock = elision::locks::Tatas<elision::locks::Park>;  // the parts used here do not wait

[[gnu::always_inline]] inline bool lock_fast(pthread_mutex_t* raw, const void* site) {
  elision::abi::CounterSlot* slot = fast_slot;
  MutexOverlay& mutex = overlay_of(raw);
  if (slot == nullptr || !MutexKind(mutex.kind).is_plain()) return false;
  const std::uint64_t before = slot->activity.position;
  // Does not read the word first: that costs an uncontended lock 5 % (Sapphire Rapids). If the lock is held,
  // the slow path only reads it.
  if (!FastLock::try_acquire(mutex.word)) return false;
  slot->activity.take(raw, site, before);
  return true;
}

/// The rest of an unlock, with `previous` in the word. Out of line: what is kept across a system call would
/// cost every unlock stores to the stack.
[[gnu::noinline]] int finish_unlock(MutexOverlay& mutex, int previous, const void* site) {
  if (previous == elision::locks::kFree) {
    elision::runtime::report_misuse(elision::runtime::Misuse::kUnlockOfFree, &mutex, site);
    return 0;
  }
  FastLock::wake(mutex.word);
  // fast_slot is null if a signal handler has forked since, and this is the child.
  elision::runtime::this_thread.activity->release();
  return 0;
}

}  // namespace

ELISION_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (lock_fast(mutex, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.mutex_lock(mutex, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  if (lock_fast(mutex, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.mutex_trylock(mutex, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* at) {
  if (lock_fast(mutex, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.mutex_clocklock(mutex, CLOCK_REALTIME, at, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  return entry_points.mutex_clocklock(mutex, clock, at, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_mutex_unlock(pthread_mutex_t* raw) {
  elision::abi::CounterSlot* slot = fast_slot;
  MutexOverlay& mutex = overlay_of(raw);
  if (slot == nullptr || !MutexKind(mutex.kind).is_plain())
    return entry_points.mutex_unlock(raw, ELISION_CALL_SITE);
  const std::uint64_t before = slot->activity.position;
  mutex.owner.store(0,
                    std::memory_order_relaxed);  // glibc's mark after a wait on a condition (runtime/mutex.h)
  const int previous = FastLock::release_asleep(mutex.word);
  if (previous != elision::locks::kHeld) [[unlikely]]
    return finish_unlock(mutex, previous, ELISION_CALL_SITE);
  slot->activity.release(before);
  return 0;
}

/// An initialised mutex is zero except for its kind, for us as for glibc.
ELISION_EXPORT int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  elision::runtime::ensure_set_up();
  return elision::runtime::glibc.mutex_init(mutex, attributes);
}

ELISION_FORWARD(mutex_destroy, pthread_mutex_t)

ELISION_OLD_NAME_OF(pthread_mutex_lock, pthread_mutex_t);
ELISION_OLD_NAME_OF(pthread_mutex_trylock, pthread_mutex_t);
ELISION_OLD_NAME_OF(pthread_mutex_unlock, pthread_mutex_t);
ELISION_OLD_NAME_OF(pthread_mutex_destroy, pthread_mutex_t);

__attribute__((constructor(101))) static void set_up_library() { elision::runtime::set_up_at_load(); }
