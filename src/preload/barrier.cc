// SPDX-License-Identifier: Apache-2.0
// pthread_barrier_wait: glibc's, outside of transactions.
#include <pthread.h>

#include "preload/exported.h"
#include "runtime/entry_points.h"

ELISION_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) {
  return elision::runtime::entry_points.barrier_wait(barrier);
}
