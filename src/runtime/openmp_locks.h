// SPDX-License-Identifier: Apache-2.0
// OpenMP's critical sections and locks as mutexes, which the current design serves like any other
// (runtime/entry_points.h).
//
// The program's objects are too small for a mutex (four bytes in libgomp). So their first four bytes hold the
// number of a cell; 0, the initial value of a critical section, means none yet. Nothing here waits.
//
// Nestable locks are recursive mutexes. Threads own them, as in libomp, and not tasks, as in libgomp.
#pragma once

#include <pthread.h>

namespace elision::runtime {

enum class OpenMpLock { kSimple, kNestable };

/// omp_init_lock, omp_init_nest_lock.
void init_openmp_lock(void* object, OpenMpLock kind);
/// omp_destroy_lock, omp_destroy_nest_lock.
void destroy_openmp_lock(void* object, const void* site);

/// The mutex of a lock or of a named critical section; makes it if there is none.
pthread_mutex_t* mutex_of_openmp_lock(void* object, OpenMpLock kind);

/// How often the calling thread holds a nestable lock; it must hold it.
int openmp_nesting(pthread_mutex_t* mutex);

}  // namespace elision::runtime
