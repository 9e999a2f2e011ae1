// SPDX-License-Identifier: Apache-2.0
// The C library's own functions behind those that the preload library replaces.
#pragma once

#include <pthread.h>

#include <ctime>

namespace elision::runtime {

struct Glibc {
  int (*mutex_lock)(pthread_mutex_t*);
  int (*mutex_trylock)(pthread_mutex_t*);
  int (*mutex_timedlock)(pthread_mutex_t*, const timespec*);
  int (*mutex_clocklock)(pthread_mutex_t*, clockid_t,
                         const timespec*);  // these since glibc 2.30: may be null
  int (*mutex_unlock)(pthread_mutex_t*);
  int (*mutex_init)(pthread_mutex_t*, const pthread_mutexattr_t*);
  int (*mutex_destroy)(pthread_mutex_t*);
  int (*cond_wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  int (*cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  int (*cond_signal)(pthread_cond_t*);
  int (*cond_broadcast)(pthread_cond_t*);
  int (*cond_destroy)(pthread_cond_t*);
  int (*cond_init)(pthread_cond_t*, const pthread_condattr_t*);
  int (*condattr_init)(pthread_condattr_t*);
  int (*condattr_setclock)(pthread_condattr_t*, clockid_t);
  // Of the layout before GLIBC_2.3.2:
  int (*old_cond_signal)(void*);
  int (*old_cond_destroy)(void*);
  int (*rwlock_rdlock)(pthread_rwlock_t*);
  int (*rwlock_tryrdlock)(pthread_rwlock_t*);
  int (*rwlock_timedrdlock)(pthread_rwlock_t*, const timespec*);
  int (*rwlock_clockrdlock)(pthread_rwlock_t*, clockid_t, const timespec*);
  int (*rwlock_wrlock)(pthread_rwlock_t*);
  int (*rwlock_trywrlock)(pthread_rwlock_t*);
  int (*rwlock_timedwrlock)(pthread_rwlock_t*, const timespec*);
  int (*rwlock_clockwrlock)(pthread_rwlock_t*, clockid_t, const timespec*);
  int (*rwlock_unlock)(pthread_rwlock_t*);
  int (*rwlock_destroy)(pthread_rwlock_t*);
  int (*spin_lock)(pthread_spinlock_t*);
  int (*spin_trylock)(pthread_spinlock_t*);
  int (*spin_unlock)(pthread_spinlock_t*);
  int (*spin_destroy)(pthread_spinlock_t*);
  int (*barrier_init)(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned);
  int (*barrier_wait)(pthread_barrier_t*);
  int (*barrier_destroy)(pthread_barrier_t*);
};

/// Filled by find_glibc(), before which nothing of it may be called.
extern constinit Glibc glibc;

/// Looks the functions up. A missing one is a broken installation: says so and aborts.
void find_glibc();

/// Where glibc says that there is one thread only; null before 2.32.
const char* find_single_threaded();

/// Finds where this glibc keeps the kind of a condition variable (overlay.h). After find_glibc().
void find_condition_layout();

/// Whether ThreadSanitizer's library comes behind ours. It sees locks by functions of the same names, so a
/// lock of ours would be hidden from it, and every section a race: then all locks stay what it puts in their
/// place. Where it comes first (preloaded so, or linked into the program as clang does) it calls us, and sees
/// them.
bool race_detector_follows();

/// The clock forms, also where glibc has none yet.
int glibc_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* at);
int glibc_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at);
int glibc_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at);
int glibc_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock, const timespec* at);

}  // namespace elision::runtime
