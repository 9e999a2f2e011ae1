// SPDX-License-Identifier: Apache-2.0
// What stands for OpenMP's critical sections and locks where they are ours: mutexes, which go through the
// design in force like any other (runtime/entry_points.h).
//
// The objects of the program are too small to hold one (four bytes in libgomp), so their first four bytes
// hold the number of a cell; 0, with which critical sections begin, means none yet. Nothing here waits.
//
// Nestable locks are recursive mutexes: owned by threads as in libomp, not by tasks as in libgomp.
#pragma once

#include <pthread.h>

namespace elision::runtime {

enum class OpenMpLock { kSimple, kNestable };

/// omp_init_lock, omp_init_nest_lock.
void init_openmp_lock(void* object, OpenMpLock kind);
/// omp_destroy_lock, omp_destroy_nest_lock.
void destroy_openmp_lock(void* object, const void* site);

/// The mutex of a lock or of a named critical section, made if there is none.
pthread_mutex_t* mutex_of_openmp_lock(void* object, OpenMpLock kind);

/// How often the calling thread, which holds it, has a nestable lock.
int openmp_nesting(pthread_mutex_t* mutex);

}  // namespace elision::runtime
