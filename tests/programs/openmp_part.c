/* SPDX-License-Identifier: Apache-2.0
 * A part of a process with several OpenMP runtimes, compiled once for each: openmp_mixed.c.
 */
#include <omp.h>

#define THREADS 4
#define ITEMS 400

static volatile long counted;

/* Ends in a jump to the runtime, which then returns to whoever called this. */
static __attribute__((noinline)) void count(void) {
#pragma omp critical(counting)
  counted = counted + 1;
}
static __attribute__((noinline)) void meet(void) {
#pragma omp barrier
}

#ifndef OPENMP_PART
#define OPENMP_PART openmp_part
#endif

/* How much of what OpenMP promises was found broken. */
__attribute__((visibility("default"))) int OPENMP_PART(void) {
  int done[ITEMS] = {0}, before[THREADS] = {0};
  int wrong = 0, threads = 0;
  counted = 0;
#pragma omp parallel num_threads(THREADS)
  {
#pragma omp master
    threads = omp_get_num_threads();
    for (int round = 1; round <= 5; ++round) {
      before[omp_get_thread_num()] = round;
      meet();
      for (int i = 0; i < threads; ++i) {
        if (((volatile int*)before)[i] < round) {
#pragma omp atomic
          ++wrong;
        }
      }
      meet();
    }
#pragma omp for schedule(static) nowait
    for (int i = 0; i < ITEMS; ++i) {
      ++((volatile int*)done)[i];
      count();
    }
    meet();
  }
  for (int i = 0; i < ITEMS; ++i) wrong += done[i] != 1;
  return wrong + (threads != THREADS) + (counted != ITEMS);
}
