// SPDX-License-Identifier: Apache-2.0
// Functions within functions, whose address is taken: GCC writes a trampoline onto the stack each time, and it
// is executed there, under a mutex that may be elided. Beside it lie variables that the section writes.
#include <pthread.h>
#include <stdio.h>

enum { kThreads = 4, kRounds = 500 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum, stray;

static long apply(long (*function)(long), long value) { return function(value); }

/// The trampoline is written within the section.
static void written_inside(long amount) {
  pthread_mutex_lock(&mutex);
  volatile long before = sum;
  {
    long add(long value) { return value + amount; }
    sum = apply(add, sum);
  }
  if (sum != before + amount) ++stray;
  pthread_mutex_unlock(&mutex);
}

/// It is there before, and the section writes beside it.
static void written_outside(long amount) {
  volatile long beside = 0;
  long add(long value) {
    beside += amount;
    return value + amount;
  }
  pthread_mutex_lock(&mutex);
  sum = apply(add, sum);
  sum = apply(add, sum);
  if (beside != 2 * amount) ++stray;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* unused) {
  for (int i = 0; i < kRounds; ++i) {
    written_inside(1 + i % 2 * 4);
    written_outside(2);
  }
  return unused;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("sum %ld, stray %ld\n", sum, stray);
  return 0;
}
