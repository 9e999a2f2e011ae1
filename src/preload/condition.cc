// SPDX-License-Identifier: Apache-2.0
// pthread_cond_*, with the symbol version of today's condition variables and that of the older layout
// (versions.map). init needs no replacement: we keep what it writes.
//
// A reference without a version means the older layout. Old programs have such references, and so do
// libraries that were linked without naming the C library (valgrind's drd). They must get all functions for
// the same layout. The older layout is a pointer to a condition variable of today's (glibc
// nptl/old_pthread_cond_wait.c).
#include <pthread.h>

#include <cerrno>

#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/glibc.h"
#include "runtime/process.h"

using elision::runtime::CondTimeout;
using elision::runtime::entry_points;

namespace {

struct OldCondition {
  pthread_cond_t* today;
};

/// Today's object behind an old one. Null: glibc had no memory for it.
pthread_cond_t* today(OldCondition* cond) {
  // If there is none yet, glibc's function allocates it. A superfluous signal is harmless.
  if (__atomic_load_n(&cond->today, __ATOMIC_ACQUIRE) == nullptr) {
    elision::runtime::ensure_set_up();
    elision::runtime::glibc.old_cond_signal(cond);
  }
  return __atomic_load_n(&cond->today, __ATOMIC_ACQUIRE);
}

}  // namespace

/// Exports cond_OF and old_cond_OF as pthread_cond_OF, with the versions of today's layout and of the older
/// one. Their own names are not exported.
#define ELISION_VERSIONS_OF(of)                 \
  asm(".symver cond_" #of ", pthread_cond_" #of \
      "@@GLIBC_2.3.2, remove\n"                 \
      ".symver old_cond_" #of ", pthread_cond_" #of "@GLIBC_2.2.5, remove")
ELISION_VERSIONS_OF(wait);
ELISION_VERSIONS_OF(timedwait);
ELISION_VERSIONS_OF(signal);
ELISION_VERSIONS_OF(broadcast);
ELISION_VERSIONS_OF(destroy);

ELISION_EXPORT int cond_wait(pthread_cond_t* cond, pthread_mutex_t* mutex) {
  return entry_points.cond_wait(cond, mutex, {CondTimeout::Form::kNone, 0, nullptr}, ELISION_CALL_SITE);
}

ELISION_EXPORT int cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex, const timespec* at) {
  return entry_points.cond_wait(cond, mutex, {CondTimeout::Form::kOwnClock, 0, at}, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock,
                                          const timespec* at) {
  return entry_points.cond_wait(cond, mutex, {CondTimeout::Form::kClock, clock, at}, ELISION_CALL_SITE);
}

ELISION_EXPORT int cond_signal(pthread_cond_t* cond) { return entry_points.cond_signal(cond); }

ELISION_EXPORT int cond_broadcast(pthread_cond_t* cond) { return entry_points.cond_broadcast(cond); }

ELISION_EXPORT int cond_destroy(pthread_cond_t* cond) { return entry_points.cond_destroy(cond); }

ELISION_EXPORT int old_cond_wait(OldCondition* cond, pthread_mutex_t* mutex) {
  pthread_cond_t* const found = today(cond);
  if (found == nullptr) return ENOMEM;
  return entry_points.cond_wait(found, mutex, {CondTimeout::Form::kNone, 0, nullptr}, ELISION_CALL_SITE);
}

ELISION_EXPORT int old_cond_timedwait(OldCondition* cond, pthread_mutex_t* mutex, const timespec* at) {
  pthread_cond_t* const found = today(cond);
  if (found == nullptr) return ENOMEM;
  return entry_points.cond_wait(found, mutex, {CondTimeout::Form::kOwnClock, 0, at}, ELISION_CALL_SITE);
}

ELISION_EXPORT int old_cond_signal(OldCondition* cond) {
  pthread_cond_t* const found = today(cond);
  return found == nullptr ? ENOMEM : entry_points.cond_signal(found);
}

ELISION_EXPORT int old_cond_broadcast(OldCondition* cond) {
  pthread_cond_t* const found = today(cond);
  return found == nullptr ? ENOMEM : entry_points.cond_broadcast(found);
}

ELISION_EXPORT int old_cond_destroy(OldCondition* cond) {
  // glibc's function frees the memory: threads must have left their waits.
  if (cond->today != nullptr) (void)entry_points.cond_destroy(cond->today);
  elision::runtime::ensure_set_up();
  return elision::runtime::glibc.old_cond_destroy(cond);
}
