// SPDX-License-Identifier: Apache-2.0
// Condition variables of pthreads, in one of three ways (ELISION_CONDITION; TSX paper, section 6):
//
//   glibc   glibc's functions. A transaction ends before a wait, and before a signal that has somebody to
//           wake (the paper's tsx.abort)
//   aware   a futex and a count in the place of glibc's words (locks/condition.h): a wait commits what the
//           section has done, a signal in a transaction waits for its commit (tsx.cond)
//   busy    a wait gives the mutex up and takes it again, for the program to look once more (busywait)
//
// `aware` keeps its state in the pthread_cond_t and takes waiters with mutexes of every kind, ours and
// glibc's. Which clock a condition variable has, and whether processes share it, stays where glibc writes it.
// One that processes share is glibc's; a wait on it with a mutex that glibc must not touch is a busy one.
#pragma once

#include <pthread.h>

#include "locks/condition.h"
#include "runtime/entry_points.h"
#include "runtime/glibc.h"

namespace elision::runtime {

/// glibc's wait that fits `timeout`.
int wait_in_glibc(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout);

/// What a wait does with the program's mutex.
struct MutexOperations {
  int (*lock)(pthread_mutex_t*, const void* site);
  int (*unlock)(pthread_mutex_t*, const void* site);
  bool (*is_held)(pthread_mutex_t*);  // null: not known
};

/// `aware`: cancellation points, as the original. Inside of a transaction only with a mutex that is its one
/// lock.
int wait_aware(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, MutexOperations operations,
               const void* site);
/// False: the transaction has noted as many signals as it can.
bool notify_aware(pthread_cond_t* cond, bool all);
int destroy_aware(pthread_cond_t* cond);

int wait_busily(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, MutexOperations operations,
                const void* site);

}  // namespace elision::runtime
