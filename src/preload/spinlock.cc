// SPDX-License-Identifier: Apache-2.0
// pthread_spin_*. pthread_spin_init stays glibc's: it writes the word that we keep (locks/spin_word.h).
#include <pthread.h>

#include "preload/exported.h"
#include "runtime/entry_points.h"

using elision::runtime::entry_points;

ELISION_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) {
  return entry_points.spin_lock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) {
  return entry_points.spin_trylock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) {
  return entry_points.spin_unlock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_spin_destroy(pthread_spinlock_t* lock) {
  return entry_points.spin_destroy(lock, ELISION_CALL_SITE);
}
