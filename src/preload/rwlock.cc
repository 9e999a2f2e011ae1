// SPDX-License-Identifier: Apache-2.0
// pthread_rwlock_*. An initialised one is all zero but for its kind and whether processes share it, for us as
// for glibc: so pthread_rwlock_init stays glibc's.
#include <pthread.h>

#include "preload/exported.h"
#include "runtime/entry_points.h"

using elision::runtime::entry_points;

ELISION_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  return entry_points.rdlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  return entry_points.tryrdlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* at) {
  return entry_points.clockrdlock(lock, CLOCK_REALTIME, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return entry_points.clockrdlock(lock, clock, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  return entry_points.wrlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  return entry_points.trywrlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* at) {
  return entry_points.clockwrlock(lock, CLOCK_REALTIME, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return entry_points.clockwrlock(lock, clock, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  return entry_points.rwlock_unlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) {
  return entry_points.rwlock_destroy(lock, ELISION_CALL_SITE);
}

ELISION_EXPORT int __pthread_rwlock_rdlock(pthread_rwlock_t*) noexcept
    ELISION_OLD_NAME_OF(pthread_rwlock_rdlock);
ELISION_EXPORT int __pthread_rwlock_tryrdlock(pthread_rwlock_t*) noexcept
    ELISION_OLD_NAME_OF(pthread_rwlock_tryrdlock);
ELISION_EXPORT int __pthread_rwlock_wrlock(pthread_rwlock_t*) noexcept
    ELISION_OLD_NAME_OF(pthread_rwlock_wrlock);
ELISION_EXPORT int __pthread_rwlock_trywrlock(pthread_rwlock_t*) noexcept
    ELISION_OLD_NAME_OF(pthread_rwlock_trywrlock);
ELISION_EXPORT int __pthread_rwlock_unlock(pthread_rwlock_t*) noexcept
    ELISION_OLD_NAME_OF(pthread_rwlock_unlock);
ELISION_EXPORT int __pthread_rwlock_destroy(pthread_rwlock_t*) noexcept
    ELISION_OLD_NAME_OF(pthread_rwlock_destroy);
