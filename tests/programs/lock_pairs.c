// SPDX-License-Identifier: Apache-2.0
// usage: lock_pairs PAIRS: takes and releases an uncontended mutex so often, in a process with two threads,
// since one thread elides nothing. For activity_cost_test.py.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long counter;

static void* stay(void* started) {
  if (write(*(const int*)started, "", 1) != 1) abort();
  for (;;) pause();
  return NULL;
}

int main(int count, char** arguments) {
  pthread_t other;
  int ends[2];
  char byte;
  if (count != 2 || pipe(ends) != 0 || pthread_create(&other, NULL, stay, &ends[1]) != 0) return 2;
  if (read(ends[0], &byte, 1) != 1) return 2;
  const unsigned long pairs = strtoul(arguments[1], NULL, 10);
  for (unsigned long i = 0; i < pairs; ++i) {
    pthread_mutex_lock(&mutex);
    counter = counter + 1;
    pthread_mutex_unlock(&mutex);
  }
  _exit(counter != pairs);
}
