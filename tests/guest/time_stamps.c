// SPDX-License-Identifier: Apache-2.0
// The time stamp counter never goes back within a thread, whatever the thread does between two
// readings: contended atomics, misses of all kinds, stores that wait in the store buffer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

enum { kThreads = 4, kRounds = 4000, kPlaces = 1 << 18 };

static long shared_counter;
static long* places;
static int failures;

static void* work(void* argument) {
  unsigned state = 1 + (unsigned)(long)argument;
  unsigned long long last = __rdtsc();
  for (int i = 0; i < kRounds; ++i) {
    state = state * 1103515245u + 12345u;
    if (i % 3 == 0) __atomic_fetch_add(&shared_counter, 1, __ATOMIC_SEQ_CST);
    if (i % 3 == 1) __atomic_store_n(&places[(state >> 8) % kPlaces], i, __ATOMIC_RELAXED);
    if (i % 3 == 2) last += __atomic_load_n(&places[(state >> 8) % kPlaces], __ATOMIC_RELAXED) & 0;
    const unsigned long long now = __rdtsc();
    if (now < last) __atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST);
    last = now;
  }
  return NULL;
}

int main(void) {
  places = calloc(kPlaces, sizeof *places);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("backward steps: %d\n", failures);
  puts(failures == 0 ? "EXIT-SUCCESS" : "EXIT-FAILURE");
  return failures != 0;
}
