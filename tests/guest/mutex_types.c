// SPDX-License-Identifier: Apache-2.0
// Robust, priority-inheritance, recursive and error-checking mutexes; a lock left by a thread that ended.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex;
static long counter;
static sem_t held, tried;

static void* leave_locked(void* unused) {
  pthread_mutex_lock(&mutex);
  return unused;
}

static void* count_up(void* unused) {
  for (int i = 0; i < 300; ++i) {
    pthread_mutex_lock(&mutex);
    ++counter;
    if (i % 50 == 0) usleep(10);
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

static void* hold_long(void* unused) {
  pthread_mutex_lock(&mutex);
  sem_post(&held);
  sem_wait(&tried);
  pthread_mutex_unlock(&mutex);
  return unused;
}

static void make(int type, int protocol, int robust) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setprotocol(&attributes, protocol);
  pthread_mutexattr_setrobust(&attributes, robust);
  pthread_mutex_init(&mutex, &attributes);
}

static void run(void* (*work)(void*), int count) {
  pthread_t threads[8];
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static void test_robust(int protocol, const char* name) {
  make(PTHREAD_MUTEX_NORMAL, protocol, PTHREAD_MUTEX_ROBUST);
  run(leave_locked, 1);
  const int first = pthread_mutex_lock(&mutex);
  pthread_mutex_consistent(&mutex);
  pthread_mutex_unlock(&mutex);
  const int second = pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  printf("%s: owner died %d, then %d\n", name, first == EOWNERDEAD, second);
}

int main(void) {
  test_robust(PTHREAD_PRIO_NONE, "robust");
  test_robust(PTHREAD_PRIO_INHERIT, "robust with priority inheritance");
  make(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
  run(count_up, 6);
  printf("priority inheritance: %ld\n", counter);
  pthread_t holder;
  pthread_create(&holder, NULL, hold_long, NULL);
  sem_wait(&held);
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 1000000;
  if (soon.tv_nsec >= 1000000000) soon.tv_sec++, soon.tv_nsec -= 1000000000;
  printf("times out: %d, busy %d\n", pthread_mutex_timedlock(&mutex, &soon) == ETIMEDOUT,
         pthread_mutex_trylock(&mutex) == EBUSY);
  sem_post(&tried);
  pthread_join(holder, NULL);
  make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
  printf("recursive: %d %d\n", pthread_mutex_lock(&mutex), pthread_mutex_lock(&mutex));
  make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
  printf("checking: %d %d %d\n", pthread_mutex_lock(&mutex), pthread_mutex_lock(&mutex) == EDEADLK,
         pthread_mutex_unlock(&mutex));
  return 0;
}
