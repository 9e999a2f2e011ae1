// SPDX-License-Identifier: Apache-2.0
// Futex operations and their timeouts.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int word, other, gate, awake, woken_bits;

static long futex(int* address, int operation, int value, void* timeout, int* second, int third) {
  return syscall(SYS_futex, address, operation, value, timeout, second, third);
}

static long elapsed_ms(const struct timespec* from) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
}

static void* sleeper(void* bits) {
  if (futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, (int)(long)bits) == 0) {
    __atomic_fetch_or(&woken_bits, (int)(long)bits, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&awake, 1, __ATOMIC_SEQ_CST);
  }
  return NULL;
}

static void* requeued(void* unused) {
  if (futex(&gate, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0)
    __atomic_fetch_add(&awake, 1, __ATOMIC_SEQ_CST);
  return unused;
}

static void test_timeouts(void) {
  struct timespec start, span = {0, 20000000}, at;
  clock_gettime(CLOCK_MONOTONIC, &start);
  long result = futex(&word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0);
  printf("wait: %ld %d, late enough %d\n", result, errno == ETIMEDOUT, elapsed_ms(&start) >= 20);
  at = start;
  at.tv_sec -= 1;
  result = futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &at, NULL, -1);
  printf("past: %ld %d\n", result, errno == ETIMEDOUT);
  clock_gettime(CLOCK_MONOTONIC, &start);
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += 30000000;
  if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
  result = futex(&word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 0, &at, NULL, -1);
  printf("realtime: %ld %d, late enough %d\n", result, errno == ETIMEDOUT, elapsed_ms(&start) >= 25);
  result = futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
  printf("changed: %ld %d\n", result, errno == EAGAIN);
  result = futex((int*)8, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
  printf("bad address: %ld %d\n", result, errno == EFAULT);
}

static void test_semaphore(void) {
  sem_t semaphore;
  struct timespec at;
  sem_init(&semaphore, 0, 1);
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += 1;
  const int first = sem_timedwait(&semaphore, &at);
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec = (at.tv_nsec + 1000000) % 1000000000;
  const int second = sem_timedwait(&semaphore, &at);
  printf("semaphore: %d %d %d\n", first, second, errno == ETIMEDOUT);
}

/// Wakes those that wait with one of `bits`; again until there is one, however late it comes, or both are
/// awake.
static long wake_bits(int bits) {
  long woken;
  do {
    usleep(1000);
    woken = futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 10, NULL, NULL, bits);
  } while (woken == 0 && __atomic_load_n(&awake, __ATOMIC_SEQ_CST) < 2);
  return woken;
}

static void test_bits(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, sleeper, (void*)1);
  pthread_create(&b, NULL, sleeper, (void*)2);
  const long woken = wake_bits(2);
  while (__atomic_load_n(&awake, __ATOMIC_SEQ_CST) == 0) usleep(1000);
  printf("woken by bit 2: %ld, those with %d\n", woken, __atomic_load_n(&woken_bits, __ATOMIC_SEQ_CST));
  printf("woken by bit 1: %ld\n", wake_bits(1));
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  printf("awake %d\n", awake);
}

/// Moves `count` threads from the gate to the word, each once it has come; none is woken.
static void gather(long count) {
  long moved = 0;
  while (moved < count) {
    usleep(1000);
    const long more = futex(&gate, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void*)9, &word, 0);
    if (more < 0) {
      perror("gather");
      return;
    }
    moved += more;
  }
  printf("gathered %ld, awake %d\n", moved, __atomic_load_n(&awake, __ATOMIC_SEQ_CST));
}

static void test_requeue(void) {
  pthread_t threads[4];
  awake = 0;
  word = 5;
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, requeued, NULL);
  gather(4);
  printf("mismatch: %ld\n", futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)9, &other, 4));
  printf("requeue: %ld\n", futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)9, &other, 5));
  while (__atomic_load_n(&awake, __ATOMIC_SEQ_CST) == 0) usleep(1000);
  printf("awake %d, left on the first word %ld\n", awake, futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
  const long woken =
      futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void*)9, &other, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 0));
  printf("wake op: %ld, word %d\n", woken, other);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("awake %d\n", awake);
}

int main(void) {
  test_timeouts();
  test_semaphore();
  test_bits();
  test_requeue();
  return 0;
}
