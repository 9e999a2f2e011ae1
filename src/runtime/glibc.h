// SPDX-License-Identifier: Apache-2.0
// The C library's own functions behind those that the preload library replaces.
#pragma once

#include <pthread.h>

#include <ctime>

namespace elision::runtime {

struct Glibc {
  int (*mutex_lock)(pthread_mutex_t*);
  int (*mutex_trylock)(pthread_mutex_t*);
  int (*mutex_clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
  int (*mutex_unlock)(pthread_mutex_t*);
  int (*mutex_init)(pthread_mutex_t*, const pthread_mutexattr_t*);
  int (*mutex_destroy)(pthread_mutex_t*);
  int (*cond_wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  int (*cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  int (*cond_signal)(pthread_cond_t*);
  int (*cond_broadcast)(pthread_cond_t*);
};

/// Filled by find_glibc(), before which nothing of it may be called.
extern constinit Glibc glibc;

/// Looks the functions up. A missing one is a broken installation: says so and aborts.
void find_glibc();

}  // namespace elision::runtime
