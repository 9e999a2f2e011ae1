// SPDX-License-Identifier: Apache-2.0
// pthread_cond_*, at the symbol version of today's condition variables (versions.map): a program built
// against the layout before it keeps glibc's functions. init needs no replacement: what it writes is kept.
#include <pthread.h>

#include "preload/exported.h"
#include "runtime/entry_points.h"

using elision::runtime::CondTimeout;
using elision::runtime::entry_points;

ELISION_EXPORT int pthread_cond_wait(pthread_cond_t* cond, pthread_mutex_t* mutex) {
  return entry_points.cond_wait(cond, mutex, {CondTimeout::Form::kNone, 0, nullptr}, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex, const timespec* at) {
  return entry_points.cond_wait(cond, mutex, {CondTimeout::Form::kOwnClock, 0, at}, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock,
                                          const timespec* at) {
  return entry_points.cond_wait(cond, mutex, {CondTimeout::Form::kClock, clock, at}, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_cond_signal(pthread_cond_t* cond) { return entry_points.cond_signal(cond); }

ELISION_EXPORT int pthread_cond_broadcast(pthread_cond_t* cond) { return entry_points.cond_broadcast(cond); }

ELISION_EXPORT int pthread_cond_destroy(pthread_cond_t* cond) { return entry_points.cond_destroy(cond); }
