// SPDX-License-Identifier: Apache-2.0
// Condition variables: always glibc's own object, so that one condition variable may have waiters with
// mutexes of both kinds, ours and glibc's, and a signal reaches them all.
//
// Where glibc may lock our mutex (its own protocol on the word), waiting is glibc's function as it is.
// Where it may not (ticket designs), a waiter gives glibc another mutex to release: the gate of that
// condition variable, one of a few in a table. Order: take the gate, release the program's mutex, wait
// (which releases the gate once the waiter is registered), release the gate, take the program's mutex
// again. Signals take the gate too, so none can fall between the release and the registration.
//
// No gate is held while waiting for a program's mutex, nor two gates at once.
#pragma once

#include <pthread.h>

#include "runtime/entry_points.h"
#include "runtime/glibc.h"

namespace elision::runtime {

/// glibc's wait that fits `timeout`.
int wait_in_glibc(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout);

/// The two operations on the program's mutex around a wait.
struct MutexOperations {
  int (*lock)(pthread_mutex_t*, const void* site);
  int (*unlock)(pthread_mutex_t*, const void* site);
};

/// Waits on `cond` with a mutex that glibc must not touch. A cancellation point, as the original.
int wait_at_gate(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout,
                 MutexOperations operations, const void* site);
int signal_at_gate(pthread_cond_t* cond);
int broadcast_at_gate(pthread_cond_t* cond);

/// In the child of a fork: a gate that another thread held stays closed for ever otherwise.
void reset_gates();

/// Whether `cond` has waiters (glibc nptl/pthread_cond_common.c: __wrefs counts them from bit 3 on).
inline bool has_waiters(const pthread_cond_t* cond) {
  return __atomic_load_n(&cond->__data.__wrefs, __ATOMIC_RELAXED) >> 3 != 0;
}

}  // namespace elision::runtime
