// SPDX-License-Identifier: Apache-2.0
// A bounded queue between producers and consumers: mutex, condition variables, barrier, rwlock, semaphore.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { kThreads = 4, kItems = 200, kRoom = 8 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t done;
static int queue[kRoom], first, count;
static long total, written;

static void* produce(void* argument) {
  pthread_barrier_wait(&barrier);
  for (int i = 1; i <= kItems; ++i) {
    pthread_mutex_lock(&mutex);
    while (count == kRoom) pthread_cond_wait(&not_full, &mutex);
    queue[(first + count++) % kRoom] = i;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&mutex);
    if (i % 10 == 0) {
      pthread_rwlock_wrlock(&rwlock);
      ++written;
      pthread_rwlock_unlock(&rwlock);
    }
  }
  sem_post(&done);
  return argument;
}

static void* consume(void* argument) {
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < kItems; ++i) {
    pthread_mutex_lock(&mutex);
    while (count == 0) pthread_cond_wait(&not_empty, &mutex);
    total += queue[first];
    first = (first + 1) % kRoom;
    --count;
    pthread_cond_broadcast(&not_full);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  }
  return argument;
}

int main(void) {
  pthread_t threads[2 * kThreads];
  pthread_barrier_init(&barrier, NULL, 2 * kThreads);
  sem_init(&done, 0, 0);
  for (int i = 0; i < 2 * kThreads; ++i) pthread_create(&threads[i], NULL, i % 2 ? consume : produce, NULL);
  for (int i = 0; i < kThreads; ++i) sem_wait(&done);
  for (int i = 0; i < 2 * kThreads; ++i) pthread_join(threads[i], NULL);
  printf("total %ld, left %d, written %ld\n", total, count, written);
  return 0;
}
