// SPDX-License-Identifier: Apache-2.0
// Condition variables of pthreads, in one of three ways (ELISION_CONDITION; TSX paper, section 6):
//
//   glibc   glibc's functions. A wait aborts a transaction, and so does a signal that has a waiter to wake
//           (the paper's tsx.abort)
//   aware   a futex and a count in place of glibc's words (locks/condition.h): a wait commits what the
//           section has done, and a signal in a transaction waits for the commit (tsx.cond)
//   busy    a wait releases the mutex and takes it again, and the program checks its condition again
//           (busywait)
//
// `aware` keeps its state in the pthread_cond_t and works with mutexes of every kind, ours and glibc's. The
// clock and the process-shared flag stay where glibc writes them. Process-shared condition variables are
// glibc's; a wait on one with a mutex that glibc must not touch is busy.
#pragma once

#include <pthread.h>

#include "locks/condition.h"
#include "runtime/entry_points.h"
#include "runtime/glibc.h"

namespace elision::runtime {

/// glibc's wait that fits `timeout`.
int wait_in_glibc(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout);

/// The operations of a wait on the program's mutex.
struct MutexOperations {
  int (*lock)(pthread_mutex_t*, const void* site);
  int (*unlock)(pthread_mutex_t*, const void* site);
  bool (*is_held)(pthread_mutex_t*);  // null: not known
};

/// `aware`. A cancellation point, like the original. In a transaction, `mutex` must be its only lock.
int wait_aware(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, MutexOperations operations,
               const void* site);
/// False: the transaction has no room to note another signal.
bool notify_aware(pthread_cond_t* cond, bool all);
int destroy_aware(pthread_cond_t* cond);

int wait_busily(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, MutexOperations operations,
                const void* site);

}  // namespace elision::runtime
