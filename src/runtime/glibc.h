// SPDX-License-Identifier: Apache-2.0
// The C library's functions that the preload library replaces or calls.
#pragma once

#include <pthread.h>

#include <ctime>
#include <type_traits>

namespace elision::runtime {

/// Which symbol a function of glibc has.
enum class Symbol {
  kInAll,         // in every supported glibc: without it, loading fails
  kSince230,      // since glibc 2.30: before, the member is null
  kCondition,     // version GLIBC_2.3.2, with today's layout of condition variables
  kOldCondition,  // the version for the older layout; only libc itself counts, and the member may be null
};

/// The one list of the functions: member of Glibc, name, symbol, signature.
#define ELISION_GLIBC_FUNCTIONS(ROW)                                                                   \
  ROW(mutex_lock, pthread_mutex_lock, kInAll, int(pthread_mutex_t*))                                   \
  ROW(mutex_trylock, pthread_mutex_trylock, kInAll, int(pthread_mutex_t*))                             \
  ROW(mutex_timedlock, pthread_mutex_timedlock, kInAll, int(pthread_mutex_t*, const timespec*))        \
  ROW(mutex_clocklock, pthread_mutex_clocklock, kSince230,                                             \
      int(pthread_mutex_t*, clockid_t, const timespec*))                                               \
  ROW(mutex_unlock, pthread_mutex_unlock, kInAll, int(pthread_mutex_t*))                               \
  ROW(mutex_init, pthread_mutex_init, kInAll, int(pthread_mutex_t*, const pthread_mutexattr_t*))       \
  ROW(mutex_destroy, pthread_mutex_destroy, kInAll, int(pthread_mutex_t*))                             \
  ROW(cond_wait, pthread_cond_wait, kCondition, int(pthread_cond_t*, pthread_mutex_t*))                \
  ROW(cond_timedwait, pthread_cond_timedwait, kCondition,                                              \
      int(pthread_cond_t*, pthread_mutex_t*, const timespec*))                                         \
  ROW(cond_clockwait, pthread_cond_clockwait, kSince230,                                               \
      int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*))                              \
  ROW(cond_signal, pthread_cond_signal, kCondition, int(pthread_cond_t*))                              \
  ROW(cond_broadcast, pthread_cond_broadcast, kCondition, int(pthread_cond_t*))                        \
  ROW(cond_destroy, pthread_cond_destroy, kCondition, int(pthread_cond_t*))                            \
  ROW(cond_init, pthread_cond_init, kCondition, int(pthread_cond_t*, const pthread_condattr_t*))       \
  ROW(condattr_init, pthread_condattr_init, kInAll, int(pthread_condattr_t*))                          \
  ROW(condattr_setclock, pthread_condattr_setclock, kInAll, int(pthread_condattr_t*, clockid_t))       \
  ROW(old_cond_signal, pthread_cond_signal, kOldCondition, int(void*))                                 \
  ROW(old_cond_destroy, pthread_cond_destroy, kOldCondition, int(void*))                               \
  ROW(rwlock_rdlock, pthread_rwlock_rdlock, kInAll, int(pthread_rwlock_t*))                            \
  ROW(rwlock_tryrdlock, pthread_rwlock_tryrdlock, kInAll, int(pthread_rwlock_t*))                      \
  ROW(rwlock_timedrdlock, pthread_rwlock_timedrdlock, kInAll, int(pthread_rwlock_t*, const timespec*)) \
  ROW(rwlock_clockrdlock, pthread_rwlock_clockrdlock, kSince230,                                       \
      int(pthread_rwlock_t*, clockid_t, const timespec*))                                              \
  ROW(rwlock_wrlock, pthread_rwlock_wrlock, kInAll, int(pthread_rwlock_t*))                            \
  ROW(rwlock_trywrlock, pthread_rwlock_trywrlock, kInAll, int(pthread_rwlock_t*))                      \
  ROW(rwlock_timedwrlock, pthread_rwlock_timedwrlock, kInAll, int(pthread_rwlock_t*, const timespec*)) \
  ROW(rwlock_clockwrlock, pthread_rwlock_clockwrlock, kSince230,                                       \
      int(pthread_rwlock_t*, clockid_t, const timespec*))                                              \
  ROW(rwlock_unlock, pthread_rwlock_unlock, kInAll, int(pthread_rwlock_t*))                            \
  ROW(rwlock_destroy, pthread_rwlock_destroy, kInAll, int(pthread_rwlock_t*))                          \
  ROW(spin_lock, pthread_spin_lock, kInAll, int(pthread_spinlock_t*))                                  \
  ROW(spin_trylock, pthread_spin_trylock, kInAll, int(pthread_spinlock_t*))                            \
  ROW(spin_unlock, pthread_spin_unlock, kInAll, int(pthread_spinlock_t*))                              \
  ROW(spin_destroy, pthread_spin_destroy, kInAll, int(pthread_spinlock_t*))                            \
  ROW(barrier_init, pthread_barrier_init, kInAll,                                                      \
      int(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned))                                 \
  ROW(barrier_wait, pthread_barrier_wait, kInAll, int(pthread_barrier_t*))                             \
  ROW(barrier_destroy, pthread_barrier_destroy, kInAll, int(pthread_barrier_t*))

struct Glibc {
#define ELISION_MEMBER(member, name, symbol, Signature) std::add_pointer_t<Signature> member;
  ELISION_GLIBC_FUNCTIONS(ELISION_MEMBER)
#undef ELISION_MEMBER
};

/// Filled by find_glibc(); must not be used before.
[[gnu::visibility("hidden")]] extern constinit Glibc glibc;

/// Looks up the functions. If one is missing, the installation is broken: reports it and aborts.
void find_glibc();

/// glibc's flag that the process has one thread only; null before 2.32.
const char* find_single_threaded();

/// Finds out where this glibc keeps the kind of a condition variable (overlay.h). Needs find_glibc().
void find_condition_layout();

/// Whether ThreadSanitizer's library comes behind ours. It replaces the same functions, so it would not see
/// our locks and would report every section as a race. Then all locks are left to it. If it comes first
/// (preloaded, or linked into the program as clang does), it sees the locks and calls us.
bool race_detector_follows();

/// The clock forms. They also work before glibc 2.30.
int glibc_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* at);
int glibc_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at);
int glibc_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at);
int glibc_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock, const timespec* at);

}  // namespace elision::runtime
