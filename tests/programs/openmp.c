/* SPDX-License-Identifier: Apache-2.0
 * What OpenMP promises of critical sections, atomic regions, locks, barriers and tasks, asked of whatever
 * runtime and library it runs with:
 *
 *   openmp [ROUNDS] [CASE...]     default: all cases; each prints its name and "ok", or what was found
 * instead
 *
 * Updates are loads and stores with something in between, so that a section that is not excluded loses some.
 * Behind a barrier every thread checks what all others did before it.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 16
#define THREADS 6

static int rounds = 40;
static int failures;

static void expect(const char* what, long found, long expected) {
  if (found == expected) return;
#pragma omp atomic
  ++failures;
  printf("%s: %ld instead of %ld\n", what, found, expected);
}

static void add(volatile long* counter) {
  const long value = *counter;
  for (int i = 0; i < 50; ++i) __asm__ volatile("");
  *counter = value + 1;
}

static void criticals(void) {
  volatile long unnamed = 0, first = 0, second = 0, nested = 0;
#pragma omp parallel num_threads(THREADS)
  for (int i = 0; i < rounds; ++i) {
#pragma omp critical
    add(&unnamed);
#pragma omp critical(first_name)
    {
      add(&first);
#pragma omp critical(inner_name)
      add(&nested);
    }
#pragma omp critical(second_name)
    add(&second);
  }
  expect("unnamed", unnamed, THREADS * rounds);
  expect("first", first, THREADS * rounds);
  expect("nested", nested, THREADS * rounds);
  expect("second", second, THREADS * rounds);
}

/* No instruction does these. */
static void atomics(void) {
  long double sum = 0;
  __int128 wide = 0;
#pragma omp parallel num_threads(THREADS)
  for (int i = 0; i < rounds; ++i) {
#pragma omp atomic
    sum += 1;
#pragma omp critical(wide_name)
    wide += (__int128)1 << 70;
  }
  expect("long double", (long)sum, THREADS * rounds);
  expect("128 bits", (long)(wide >> 70), THREADS * rounds);
}

static void locks(void) {
  enum { kLocks = 2 };
  omp_lock_t lock[kLocks];
  volatile long counter[kLocks] = {0}, tried = 0, got = 0;
  for (int i = 0; i < kLocks; ++i) omp_init_lock(&lock[i]);
#pragma omp parallel num_threads(THREADS)
  for (int i = 0; i < rounds; ++i) {
    const int which = (i + omp_get_thread_num()) % kLocks;
    omp_set_lock(&lock[which]);
    add(&counter[which]);
    omp_unset_lock(&lock[which]);
    if (omp_test_lock(&lock[0])) {
      add(&tried);
      omp_unset_lock(&lock[0]);
#pragma omp atomic
      ++got;
    }
  }
  long sum = 0;
  for (int i = 0; i < kLocks; ++i) {
    sum += counter[i];
    expect("free lock", omp_test_lock(&lock[i]), 1);
    int elsewhere = 2;
#pragma omp parallel num_threads(2) shared(elsewhere)
    if (omp_get_thread_num() == 1) elsewhere = omp_test_lock(&lock[i]);
    expect("lock that another holds", elsewhere, 0);
    omp_unset_lock(&lock[i]);
    omp_destroy_lock(&lock[i]);
  }
  expect("locks", sum, THREADS * rounds);
  expect("locks tried", tried, got);
}

static void nest_locks(void) {
  omp_nest_lock_t lock;
  volatile long counter = 0;
  long wrong = 0;
  omp_init_nest_lock(&lock);
#pragma omp parallel num_threads(THREADS) reduction(+ : wrong)
  for (int i = 0; i < rounds; ++i) {
    omp_set_nest_lock(&lock);
    add(&counter);
    omp_set_nest_lock(&lock);
    add(&counter);
    wrong += omp_test_nest_lock(&lock) != 3;
    omp_unset_nest_lock(&lock);
    omp_unset_nest_lock(&lock);
    omp_unset_nest_lock(&lock);
    const int depth = omp_test_nest_lock(&lock);
    wrong += depth > 1;
    if (depth != 0) omp_unset_nest_lock(&lock);
  }
  expect("nest locks", counter, 2L * THREADS * rounds);
  expect("nesting", wrong, 0);
  omp_destroy_nest_lock(&lock);
}

/* Everyone writes what is theirs, passes a barrier, and reads everyone's. Passed `way`: explicit, or implied
 * by a loop or by a single construct. */
static void phases(int threads, int times, long* wrong_out) {
  static volatile long written[8][MOST_THREADS];
  const int slot = omp_get_level() == 2 ? omp_get_ancestor_thread_num(1) % 4 + 4 : 0;
  const int me = omp_get_thread_num();
  long wrong = 0;
  for (int i = 1; i <= times; ++i) {
    written[slot][me] = i;
    for (int k = 0; k < me * 3; ++k) __asm__ volatile("");
#pragma omp barrier
    for (int t = 0; t < threads; ++t) wrong += written[slot][t] != i;
#pragma omp barrier
#pragma omp for schedule(static)
    for (int t = 0; t < threads; ++t) written[slot][t] = -i - t;
    for (int t = 0; t < threads; ++t) wrong += written[slot][t] != -i - t;
#pragma omp barrier
#pragma omp single
    written[slot][0] = 7 * i;
    wrong += written[slot][0] != 7 * i;
#pragma omp barrier
  }
#pragma omp atomic
  *wrong_out += wrong;
}

static void barriers(void) {
  for (int threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
    long wrong = 0;
#pragma omp parallel num_threads(threads)
    phases(threads, rounds, &wrong);
    expect("seen behind barriers", wrong, 0);
  }
}

/* Teams within a team, of several threads, of one, and inactive; the outer one passes barriers in between. */
static void nested(void) {
  long wrong = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
  for (int i = 0; i < rounds / 8 + 1; ++i) {
#pragma omp parallel num_threads(2)
    phases(2, 3, &wrong);
#pragma omp barrier
    if (omp_get_thread_num() == 1) {
#pragma omp parallel num_threads(3) if (0)
      {
#pragma omp barrier
      }
    }
#pragma omp parallel num_threads(1)
    {
#pragma omp barrier
    }
    long here = 0;
#pragma omp parallel for num_threads(2) schedule(dynamic) reduction(+ : here)
    for (int k = 0; k < 10; ++k) here += k;
    wrong += here != 45;
#pragma omp barrier
  }
  expect("seen behind nested barriers", wrong, 0);
  omp_set_max_active_levels(1);
}

/* Some threads wait at a barrier when another creates the first tasks: they have to be done behind it. */
static void tasks(void) {
  enum { kTasks = 12 };
  for (int i = 0; i < rounds / 2 + 1; ++i) {
    volatile long done[kTasks] = {0};
    long wrong = 0, sum = 0;
#pragma omp parallel num_threads(4) shared(done) reduction(+ : wrong)
    {
#pragma omp barrier
      if (omp_get_thread_num() == i % 4) {
        for (int k = 0; k < i % 7 * 100; ++k) __asm__ volatile("");
        for (int t = 0; t < kTasks; ++t) {
#pragma omp task firstprivate(t) shared(done)
          done[t] = t + 1;
        }
      }
#pragma omp barrier
      for (int t = 0; t < kTasks; ++t) wrong += done[t] != t + 1;
#pragma omp barrier
#pragma omp single
      {
#pragma omp taskloop
        for (int t = 0; t < kTasks; ++t) {
#pragma omp atomic
          sum += t;
        }
      }
#pragma omp barrier
    }
    expect("tasks", wrong, 0);
    expect("taskloop", sum, kTasks * (kTasks - 1) / 2);
  }
}

/* Regions that capture little and much. */
static void capture(void) {
  long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, k = 9, l = 10, m = 11, n = 12, o = 13, p = 14,
       q = 15, r = 16, s = 17, t = 18, u = 19, v = 20;
  long sum = 0;
#pragma omp parallel num_threads(3)
  {
#pragma omp critical(sum_name)
    sum += a + b + c + d + e + f + g + h + k + l + m + n + o + p + q + r + s + t + u + v;
#pragma omp barrier
#pragma omp single
    a = b = c = d = e = f = g = h = k = l = m = n = o = p = q = r = s = t = u = v = sum;
  }
  expect("captured", sum, 3 * 210);
  expect("captured and stored", a + v, 2 * sum);
}
static void captures(void) {
  for (int i = 0; i < rounds; ++i) capture();
}

static const struct {
  const char* name;
  void (*run)(void);
} kCases[] = {{"criticals", criticals}, {"atomics", atomics}, {"locks", locks}, {"nest-locks", nest_locks},
              {"barriers", barriers},   {"nested", nested},   {"tasks", tasks}, {"captures", captures}};

static int is_asked_for(const char* name, int count, char** names) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(names[i], name) == 0) return 1;
  }
  return count == 0;
}

int main(int argc, char** argv) {
  if (argc > 1) rounds = atoi(argv[1]);
  const int named = argc > 2 ? argc - 2 : 0;
  for (unsigned i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (!is_asked_for(kCases[i].name, named, argv + 2)) continue;
    const int before = failures;
    kCases[i].run();
    if (failures == before) printf("%s ok\n", kCases[i].name);
  }
  return failures != 0;
}
