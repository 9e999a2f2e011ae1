// SPDX-License-Identifier: Apache-2.0
// pthread_barrier_*: ours in designs whose waiters speculate, else glibc's, outside of transactions.
#include "runtime/barrier.h"

#include <pthread.h>

#include "preload/exported.h"
#include "runtime/entry_points.h"

ELISION_EXPORT int pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                                        unsigned count) {
  return elision::runtime::init_barrier(barrier, attributes, count);
}

ELISION_FORWARD(barrier_wait, pthread_barrier_t)

ELISION_FORWARD(barrier_destroy, pthread_barrier_t)
