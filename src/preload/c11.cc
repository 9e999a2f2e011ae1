// SPDX-License-Identifier: Apache-2.0
// C11 mutexes and condition variables. In glibc they are pthread objects of another type, and the C library
// locks them internally, where a preloaded library does not see it. So their functions are replaced too.
// mtx_init and cnd_init only initialise the object and stay glibc's.
#include <pthread.h>
#include <threads.h>

#include <cerrno>

#include "preload/exported.h"
#include "runtime/entry_points.h"

namespace {

using elision::runtime::CondTimeout;
using elision::runtime::entry_points;

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && alignof(mtx_t) == alignof(pthread_mutex_t));
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t) && alignof(cnd_t) == alignof(pthread_cond_t));

pthread_mutex_t* mutex_of(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* cond_of(cnd_t* cond) { return reinterpret_cast<pthread_cond_t*>(cond); }

/// The code that glibc returns for a pthread error (its nptl/thrd_priv.h).
int c11_code(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case ENOMEM:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    case EBUSY:
      return thrd_busy;
    default:
      return thrd_error;
  }
}

}  // namespace

ELISION_EXPORT int mtx_lock(mtx_t* mutex) {
  return c11_code(entry_points.mutex_lock(mutex_of(mutex), ELISION_CALL_SITE));
}

ELISION_EXPORT int mtx_trylock(mtx_t* mutex) {
  return c11_code(entry_points.mutex_trylock(mutex_of(mutex), ELISION_CALL_SITE));
}

ELISION_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* at) {
  return c11_code(entry_points.mutex_clocklock(mutex_of(mutex), CLOCK_REALTIME, at, ELISION_CALL_SITE));
}

ELISION_EXPORT int mtx_unlock(mtx_t* mutex) {
  return c11_code(entry_points.mutex_unlock(mutex_of(mutex), ELISION_CALL_SITE));
}

ELISION_EXPORT void mtx_destroy(mtx_t* mutex) {
  (void)entry_points.mutex_destroy(mutex_of(mutex), ELISION_CALL_SITE);
}

ELISION_EXPORT int cnd_wait(cnd_t* cond, mtx_t* mutex) {
  return c11_code(entry_points.cond_wait(cond_of(cond), mutex_of(mutex),
                                         {CondTimeout::Form::kNone, 0, nullptr}, ELISION_CALL_SITE));
}

ELISION_EXPORT int cnd_timedwait(cnd_t* cond, mtx_t* mutex, const timespec* at) {
  return c11_code(entry_points.cond_wait(cond_of(cond), mutex_of(mutex),
                                         {CondTimeout::Form::kOwnClock, 0, at}, ELISION_CALL_SITE));
}

ELISION_EXPORT int cnd_signal(cnd_t* cond) { return c11_code(entry_points.cond_signal(cond_of(cond))); }

ELISION_EXPORT int cnd_broadcast(cnd_t* cond) { return c11_code(entry_points.cond_broadcast(cond_of(cond))); }

ELISION_EXPORT void cnd_destroy(cnd_t* cond) { (void)entry_points.cond_destroy(cond_of(cond)); }
