// SPDX-License-Identifier: Apache-2.0
// pthread_rwlock_*. An initialised lock is zero except for its kind and its process-shared flag, for us as
// for glibc. So pthread_rwlock_init stays glibc's.
#include <pthread.h>

#include "preload/exported.h"
#include "runtime/entry_points.h"

using elision::runtime::entry_points;

ELISION_FORWARD(rwlock_rdlock, pthread_rwlock_t)
ELISION_FORWARD(rwlock_tryrdlock, pthread_rwlock_t)
ELISION_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* at) {
  return entry_points.rwlock_clockrdlock(lock, CLOCK_REALTIME, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return entry_points.rwlock_clockrdlock(lock, clock, at, ELISION_CALL_SITE);
}
ELISION_FORWARD(rwlock_wrlock, pthread_rwlock_t)
ELISION_FORWARD(rwlock_trywrlock, pthread_rwlock_t)
ELISION_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* at) {
  return entry_points.rwlock_clockwrlock(lock, CLOCK_REALTIME, at, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return entry_points.rwlock_clockwrlock(lock, clock, at, ELISION_CALL_SITE);
}
ELISION_FORWARD(rwlock_unlock, pthread_rwlock_t)
ELISION_FORWARD(rwlock_destroy, pthread_rwlock_t)

ELISION_OLD_NAME_OF(pthread_rwlock_rdlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_tryrdlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_wrlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_trywrlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_unlock, pthread_rwlock_t);
ELISION_OLD_NAME_OF(pthread_rwlock_destroy, pthread_rwlock_t);
