/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads move money between accounts: a transfer locks both as one set, and every tenth is put down in a book,
 * several of whose lines are written in one transaction. The sums must come out. C11, and C++17 (bank_in_c.cc).
 */
#include <elision/elision.h>
#include <pthread.h>
#include <stdio.h>

#define ACCOUNTS 8
#define THREADS 3
#define TRANSFERS 300

struct account {
  elision_mutex mutex;
  long balance;
};

static struct account accounts[ACCOUNTS];
static elision_mutex book = ELISION_MUTEX_INIT;
static elision_shared_mutex rates = ELISION_SHARED_MUTEX_INIT;
static elision_condition all_here = ELISION_CONDITION_INIT;
static elision_mutex arrivals = ELISION_MUTEX_INIT;
static elision_barrier closing = ELISION_BARRIER_INIT(THREADS);
static long rate = 1, lines, arrived, last_ones;

static void arrive(void) {
  elision_mutex_lock(&arrivals);
  if (++arrived == THREADS) elision_condition_broadcast(&all_here);
  while (arrived < THREADS) elision_condition_wait(&all_here, &arrivals);
  (void)elision_mutex_unlock(&arrivals);
}

static void transfer(struct account* from, struct account* to, long amount) {
  elision_mutex* const both[] = {&from->mutex, &to->mutex};
  elision_lockset_lock(both, 2);
  from->balance -= amount;
  to->balance += amount;
  (void)elision_lockset_unlock(both, 2);
}

static void* work(void* number) {
  unsigned random = *(const unsigned*)number;
  elision_coarsener coarsener;
  int i;
  elision_coarsener_init(&coarsener, ELISION_COARSENER_ADAPTS);
  arrive();
  for (i = 0; i < TRANSFERS; ++i) {
    long amount;
    random = random * 1664525u + 1013904223u;
    elision_shared_mutex_lock_shared(&rates);
    amount = rate;
    (void)elision_shared_mutex_unlock_shared(&rates);
    transfer(&accounts[(random >> 8) % ACCOUNTS], &accounts[(random >> 16) % ACCOUNTS], amount);
    if (i % 10 == 0) {
      elision_coarsener_lock(&coarsener, &book);
      ++lines;
      elision_coarsener_unlock(&coarsener, &book);
    }
  }
  elision_coarsener_flush(&coarsener);
  if (elision_barrier_wait(&closing)) ++last_ones;
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  unsigned numbers[THREADS];
  long sum = 0;
  int i;
  for (i = 0; i < THREADS; ++i) {
    numbers[i] = (unsigned)i;
    pthread_create(&threads[i], 0, work, &numbers[i]);
  }
  for (i = 0; i < THREADS; ++i) pthread_join(threads[i], 0);
  for (i = 0; i < ACCOUNTS; ++i) sum += accounts[i].balance;
  printf("sum %ld, lines %ld, closed %ld, library %d\n", sum, lines, last_ones, elision_library_version());
  return sum == 0 && lines == THREADS * (TRANSFERS / 10) && last_ones == 1 &&
                 elision_library_version() == ELISION_VERSION
             ? 0
             : 1;
}
