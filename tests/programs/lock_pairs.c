// SPDX-License-Identifier: Apache-2.0
// usage: lock_pairs PAIRS [STEPS]: takes and releases an uncontended mutex so often, with so many multiplications in
// each section, one after the other (default: none), in a process with two threads, since one thread elides nothing.
// For activity_cost_test.py and tools/bench-activity.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long counter, result;

static void* stay(void* started) {
  if (write(*(const int*)started, "", 1) != 1) abort();
  for (;;) pause();
  return NULL;
}

int main(int count, char** arguments) {
  pthread_t other;
  int ends[2];
  char byte;
  if (count < 2 || count > 3 || pipe(ends) != 0 || pthread_create(&other, NULL, stay, &ends[1]) != 0) return 2;
  if (read(ends[0], &byte, 1) != 1) return 2;
  const unsigned long pairs = strtoul(arguments[1], NULL, 10);
  const unsigned long steps = count == 3 ? strtoul(arguments[2], NULL, 10) : 0;
  for (unsigned long i = 0; i < pairs; ++i) {
    pthread_mutex_lock(&mutex);
    counter = counter + 1;
    unsigned long value = result;  // sections do not overlap in the CPU's pipeline
    for (unsigned long j = 0; j < steps; ++j) value = value * 6364136223846793005 + 1;
    result = value;
    pthread_mutex_unlock(&mutex);
  }
  _exit(counter != pairs);
}
