// SPDX-License-Identifier: Apache-2.0
// Thread-local storage: initial values, one copy a thread, destructors.
#include <pthread.h>
#include <stdio.h>

static __thread int counter = 7;
static __thread char buffer[4096];
static pthread_key_t key;
static int destructed;

static void destruct(void* value) { __atomic_fetch_add(&destructed, (int)(long)value, __ATOMIC_SEQ_CST); }

static void* work(void* argument) {
  long id = (long)argument;
  pthread_setspecific(key, (void*)1);
  for (int i = 0; i < 100; ++i) counter += id;
  buffer[id] = (char)id;
  return (void*)(long)(counter + buffer[id]);
}

int main(void) {
  pthread_t threads[8];
  long sum = 0;
  pthread_key_create(&key, destruct);
  for (long i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 8; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    sum += (long)result;
  }
  printf("sum %ld, own counter %d, destructors %d\n", sum, counter, destructed);
  return 0;
}
