// SPDX-License-Identifier: Apache-2.0
// pthread_rwlock_*. An initialised lock is zero except for its kind and its process-shared flag, for us as
// for glibc. So pthread_rwlock_init stays glibc's.
#include "locks/rwlock.h"

#include <pthread.h>

#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/overlay.h"
#include "runtime/thread_state.h"

namespace {

using elision::abi::ThreadActivity;
using elision::locks::LockWords;
using elision::runtime::entry_points;
using elision::runtime::overlay_of;
using elision::runtime::RwlockOverlay;
using elision::runtime::this_thread;
// The parts used here do not wait, and are the same for every gate.
using Gate = elision::locks::TicketGate<elision::locks::Park>;
using Reader = elision::locks::ReadSide<Gate>;
using Writer = elision::locks::WriteSide<Gate>;

/// The state without the other words, which the short path does not need.
inline LockWords state_of(RwlockOverlay& lock) { return {.word = &lock.state}; }

/// False: nothing was done. If the calling thread is the writer, or would be one reader too many, the state
/// says so, and the table has the error code.
[[gnu::always_inline]] inline bool read_if_free(pthread_rwlock_t* raw, const void* site) {
  ThreadActivity* activity = this_thread.short_paths.rwlock;
  RwlockOverlay& lock = overlay_of(raw);
  if (activity == nullptr || !lock.is_ours()) return false;
  const std::uint64_t before = activity->position;
  if (!Reader::try_acquire_plainly(state_of(lock))) [[unlikely]]
    return false;
  activity->take(raw, site, before);
  return true;
}
[[gnu::always_inline]] inline bool write_if_free(pthread_rwlock_t* raw, const void* site) {
  ThreadActivity* activity = this_thread.short_paths.rwlock;
  RwlockOverlay& lock = overlay_of(raw);
  if (activity == nullptr || !lock.is_ours()) return false;
  const std::uint64_t before = activity->position;
  // Where the gate is not FIFO, the words of a ticket gate are zero: it looks free.
  if (elision::locks::Ticket<elision::locks::Park>::is_held(lock.ticket) ||
      !Writer::try_acquire_plainly(state_of(lock)))
    return false;
  lock.writer.store(this_thread.thread_id, std::memory_order_relaxed);
  activity->take(raw, site, before);
  return true;
}
[[gnu::always_inline]] inline bool leave_quickly(pthread_rwlock_t* raw) {
  ThreadActivity* activity = this_thread.short_paths.rwlock;
  RwlockOverlay& lock = overlay_of(raw);
  if (activity == nullptr || !lock.is_ours()) return false;
  const std::uint64_t before = activity->position;
  if (!Reader::release_plainly(state_of(lock))) {
    if (!Writer::is_inside_and_unmarked(
            static_cast<std::uint32_t>(lock.state.load(std::memory_order_relaxed))))
      return false;
    lock.writer.store(0, std::memory_order_relaxed);
    if (!Writer::release_plainly(state_of(lock))) return false;
  }
  activity->release(before);
  return true;
}

}  // namespace

ELISION_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  if (read_if_free(lock, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.rwlock_rdlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  if (read_if_free(lock, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.rwlock_tryrdlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* at) {
  return entry_points.rwlock_clockrdlock(lock, CLOCK_REALTIME, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return entry_points.rwlock_clockrdlock(lock, clock, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  if (write_if_free(lock, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.rwlock_wrlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  if (write_if_free(lock, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.rwlock_trywrlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* at) {
  return entry_points.rwlock_clockwrlock(lock, CLOCK_REALTIME, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return entry_points.rwlock_clockwrlock(lock, clock, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  if (leave_quickly(lock)) [[likely]]
    return 0;
  return entry_points.rwlock_unlock(lock, ELISION_CALL_SITE);
}
ELISION_FORWARD(rwlock_destroy, pthread_rwlock_t)

ELISION_OLD_NAME_OF(pthread_rwlock_rdlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_tryrdlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_wrlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_trywrlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_unlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_destroy, pthread_rwlock_t);
