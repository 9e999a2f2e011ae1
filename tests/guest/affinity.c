/* SPDX-License-Identifier: Apache-2.0
 * Affinity masks that change while a thread runs, waits for a CPU, sleeps, or waits in the kernel:
 *
 *   affinity              every state once, what is inherited, and what is refused
 *   affinity schedule SEED   threads that pin themselves and each other at random, more of them than CPUs
 *
 * Whatever the masks do, every thread goes on, on a CPU of its mask, with its registers as they were. Prints
 * the same on every machine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_CPUS 128

static int cpus[MOST_CPUS]; /* that we may use, as we begin */
static int cpu_count;

static int failures;

static void expect(const char* what, long found, long expected) {
  if (found == expected) return;
  __atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST);
  printf("%s: %ld instead of %ld\n", what, found, expected);
}

static void find_cpus(void) {
  cpu_set_t all;
  expect("getaffinity", sched_getaffinity(0, sizeof all, &all), 0);
  for (int cpu = 0; cpu < MOST_CPUS; ++cpu)
    if (CPU_ISSET(cpu, &all)) cpus[cpu_count++] = cpu;
}

static cpu_set_t only(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  return mask;
}

static void pin(pid_t thread, cpu_set_t mask) {
  expect("setaffinity", sched_setaffinity(thread, sizeof mask, &mask), 0);
  cpu_set_t now;
  expect("getaffinity", sched_getaffinity(thread, sizeof now, &now), 0);
  for (int i = 0; i < cpu_count; ++i)
    expect("CPU in the mask", CPU_ISSET(cpus[i], &now) != 0, CPU_ISSET(cpus[i], &mask) != 0);
}

/* Both ways to ask agree, and name a CPU of the mask. */
static void check_place(const char* what, cpu_set_t mask) {
  unsigned by_call = 0;
  expect(what, syscall(SYS_getcpu, &by_call, NULL, NULL), 0);
  expect(what, CPU_ISSET(by_call, &mask) != 0, 1);
  const int by_library = sched_getcpu();
  expect(what, CPU_ISSET(by_library, &mask) != 0, 1);
}

/* Keeps its state in registers: what is lost of them changes the result. */
static uint64_t compute(uint64_t value, unsigned steps) {
  for (unsigned i = 0; i < steps; ++i) {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
  }
  return value;
}

static uint64_t next(uint64_t* state) { return *state = compute(*state, 1); }

/* One thread in each state. */

enum state { RUNNING, QUEUED, IN_FUTEX, IN_SLEEP, IN_READ, STATES };
static const char* const state_names[] = {"running", "queued", "in a futex", "in a sleep", "in a read"};

struct target {
  enum state state;
  pid_t tid; /* 0 until it runs */
  int go;
  int pipe[2];
  cpu_set_t mask;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
};

static int load(const int* at) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
static void store(int* at, int value) { __atomic_store_n(at, value, __ATOMIC_SEQ_CST); }

static void* be_target(void* argument) {
  struct target* const self = argument;
  store(&self->tid, (int)syscall(SYS_gettid));
  uint64_t value = 1;
  unsigned rounds = 0;
  char byte;
  struct timespec delay = {0, 2000000};
  switch (self->state) {
    case RUNNING:
    case QUEUED:
      for (; !load(&self->go); ++rounds) value = compute(value, 100);
      expect("value after all", value == compute(1, rounds * 100), 1);
      break;
    case IN_FUTEX:
      pthread_mutex_lock(&self->mutex);
      while (!self->go) pthread_cond_wait(&self->changed, &self->mutex);
      pthread_mutex_unlock(&self->mutex);
      break;
    case IN_SLEEP:
      while (!load(&self->go)) nanosleep(&delay, NULL);
      break;
    default:
      expect("read", read(self->pipe[0], &byte, 1), 1);
  }
  check_place(state_names[self->state], self->mask);
  return NULL;
}

static void let_go(struct target* target) {
  pthread_mutex_lock(&target->mutex);
  store(&target->go, 1);
  pthread_cond_signal(&target->changed);
  pthread_mutex_unlock(&target->mutex);
  if (target->state == IN_READ) expect("write", write(target->pipe[1], "x", 1), 1);
}

/* Moves a thread in `state` from CPU to CPU; three others keep the first CPU busy if it is to wait for it. */
static void move_target(enum state state) {
  struct target target = {
      .state = state, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  struct target rivals[3] = {{.state = RUNNING}, {.state = RUNNING}, {.state = RUNNING}};
  pthread_t threads[4];
  expect("pipe", pipe(target.pipe), 0);
  pin(0, only(cpus[0])); /* who is created begins there */
  const int others = state == QUEUED ? 3 : 0;
  for (int i = 0; i < others; ++i) {
    pthread_mutex_init(&rivals[i].mutex, NULL);
    pthread_cond_init(&rivals[i].changed, NULL);
    rivals[i].mask = only(cpus[0]);
    pthread_create(&threads[i], NULL, be_target, &rivals[i]);
  }
  pthread_create(&threads[3], NULL, be_target, &target);
  while (load(&target.tid) == 0) sched_yield();
  for (int i = 0; i < 6; ++i) {
    target.mask = only(cpus[i % cpu_count]);
    pin(target.tid, target.mask);
    sched_yield();
  }
  let_go(&target);
  for (int i = 0; i < others; ++i) let_go(&rivals[i]);
  for (int i = 0; i < others; ++i) pthread_join(threads[i], NULL);
  pthread_join(threads[3], NULL);
  close(target.pipe[0]);
  close(target.pipe[1]);
  printf("%s: moved\n", state_names[state]);
}

/* As OpenMP runtimes do: the creator is pinned to one CPU, each new thread to another before its first
 * instruction. */
static void* pinned_at_birth(void* argument) {
  check_place("pinned by an attribute", only(*(int*)argument));
  return NULL;
}

static void create_pinned(void) {
  pthread_t threads[MOST_CPUS];
  pin(0, only(cpus[0]));
  for (int i = 0; i < cpu_count; ++i) {
    pthread_attr_t attributes;
    const cpu_set_t mask = only(cpus[i]);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof mask, &mask);
    expect("create", pthread_create(&threads[i], &attributes, pinned_at_birth, &cpus[i]), 0);
  }
  for (int i = 0; i < cpu_count; ++i) pthread_join(threads[i], NULL);
  printf("pinned by attributes\n");
}

static void check_refusals(void) {
  cpu_set_t none, beyond;
  CPU_ZERO(&none);
  beyond = only(CPU_SETSIZE - 1);
  cpu_set_t with_ours = beyond;
  CPU_SET(cpus[0], &with_ours);
  expect("no CPU", sched_setaffinity(0, sizeof none, &none) == -1 ? errno : 0, EINVAL);
  expect("CPUs that do not exist", sched_setaffinity(0, sizeof beyond, &beyond) == -1 ? errno : 0, EINVAL);
  expect("no such thread", sched_setaffinity(0x3ffffff, sizeof none, &with_ours) == -1 ? errno : 0, ESRCH);
  expect("no such thread", sched_getaffinity(0x3ffffff, sizeof none, &none) == -1 ? errno : 0, ESRCH);
  expect("bad address", syscall(SYS_sched_setaffinity, 0, 8, 8) == -1 ? errno : 0, EFAULT);
  expect("size", syscall(SYS_sched_getaffinity, 0, 7, &none) == -1 ? errno : 0, EINVAL);
  pin(0, with_ours);
  check_place("with CPUs that do not exist", only(cpus[0]));
  cpu_set_t now;
  expect("getaffinity", sched_getaffinity(0, sizeof now, &now), 0);
  expect("CPUs that exist", CPU_COUNT(&now), 1);
  printf("refused what must be\n");
}

static void check_inheritance(const char* program) {
  pin(0, only(cpus[cpu_count - 1]));
  fflush(stdout);
  for (int with_exec = 0; with_exec < 3; ++with_exec) {
    const pid_t child = with_exec == 2 ? vfork() : fork();
    char number[16];
    if (child == 0) {
      snprintf(number, sizeof number, "%d", cpus[cpu_count - 1]);
      if (with_exec) execl(program, program, "inherited", number, (char*)NULL);
      cpu_set_t now;
      expect("getaffinity", sched_getaffinity(0, sizeof now, &now), 0);
      expect("CPUs after fork", CPU_COUNT(&now), 1);
      check_place("after fork", only(cpus[cpu_count - 1]));
      fflush(stdout);
      _exit(failures);
    }
    int status = -1;
    waitpid(child, &status, 0);
    expect("child", status, 0);
  }
  /* What a vfork child asks for is its own. */
  const cpu_set_t first = only(cpus[0]);
  const pid_t child = vfork();
  if (child == 0) {
    const int error = sched_setaffinity(0, sizeof first, &first);
    if (error == 0) execl(program, program, "inherited", "first", (char*)NULL);
    _exit(1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  expect("vfork child", status, 0);
  check_place("after a vfork child changed its own", only(cpus[cpu_count - 1]));
  printf("inherited\n");
}

static int inherited(const char* number) {
  const int cpu = strcmp(number, "first") != 0 ? atoi(number) : cpus[0];
  expect("CPUs after exec", cpu_count, 1);
  expect("CPU after exec", cpus[0], cpu);
  check_place("after exec", only(cpu));
  return failures;
}

/* The schedule. */

#define THREADS 12
#define ROUNDS 60

static struct {
  pthread_mutex_t mutex; /* who holds it may change the mask of this thread */
  pid_t tid;
  uint64_t random, result;
  int pipe[2];
} players[THREADS];
static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static long turns;

static cpu_set_t random_mask(uint64_t* random) {
  cpu_set_t mask = only(cpus[next(random) % (unsigned)cpu_count]);
  if (next(random) % 2) CPU_SET(cpus[next(random) % (unsigned)cpu_count], &mask);
  if (next(random) % 4 == 0) CPU_SET(CPU_SETSIZE - 1, &mask);
  return mask;
}

static void pin_player(int whom, int self, uint64_t* random) {
  pthread_mutex_lock(&players[whom].mutex);
  const cpu_set_t mask = random_mask(random);
  if (players[whom].tid != 0) pin(players[whom].tid, mask);
  if (whom == self) check_place("after pinning myself", mask);
  pthread_mutex_unlock(&players[whom].mutex);
}

static void take_turn(void) {
  pthread_mutex_lock(&turn_mutex);
  ++turns;
  pthread_cond_broadcast(&turn_changed);
  pthread_mutex_unlock(&turn_mutex);
}

/* The first thread takes a turn a round and waits for none, so nobody waits for ever. */
static void await_turn(void) {
  pthread_mutex_lock(&turn_mutex);
  const long seen = turns;
  if (seen < ROUNDS)
    while (turns == seen) pthread_cond_wait(&turn_changed, &turn_mutex);
  pthread_mutex_unlock(&turn_mutex);
}

static void* play(void* argument) {
  const int self = (int)(intptr_t)argument;
  uint64_t random = players[self].random;
  pthread_mutex_lock(&players[self].mutex);
  players[self].tid = (pid_t)syscall(SYS_gettid);
  pthread_mutex_unlock(&players[self].mutex);
  uint64_t value = (uint64_t)self + 1;
  for (int round = 0; round < ROUNDS; ++round) {
    const struct timespec delay = {0, (long)(next(&random) % 30000)};
    char byte = 0;
    switch (next(&random) % 7) {
      case 0:
        pin_player(self, self, &random);
        break;
      case 1:
      case 2:
        pin_player((int)(next(&random) % THREADS), self, &random);
        break;
      case 3:
        sched_yield();
        break;
      case 4:
        nanosleep(&delay, NULL);
        break;
      case 5:
        if (self != 0) await_turn();
        break;
      default: /* through a pipe, and back from whoever is first */
        expect("write", write(players[self].pipe[1], &byte, 1), 1);
        expect("read", read(players[self].pipe[0], &byte, 1), 1);
    }
    value = compute(value, (unsigned)(next(&random) % 2000));
    if (self == 0) take_turn();
  }
  for (int i = 0; i < ROUNDS && self == 0; ++i) take_turn();
  pthread_mutex_lock(&players[self].mutex);
  players[self].tid = 0; /* the number may soon be another's */
  pthread_mutex_unlock(&players[self].mutex);
  players[self].result = value;
  return NULL;
}

static int schedule(uint64_t seed) {
  uint64_t random = seed * 0x9e3779b97f4a7c15u + 1, sum = 0;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    pthread_mutex_init(&players[i].mutex, NULL);
    players[i].random = next(&random) | 1;
    expect("pipe", pipe(players[i].pipe), 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, play, (void*)(intptr_t)i);
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    sum += players[i].result;
  }
  printf("seed %llu: %016llx\n", (unsigned long long)seed, (unsigned long long)sum);
  return failures;
}

int main(int argc, char** argv) {
  find_cpus();
  if (argc == 3 && strcmp(argv[1], "inherited") == 0) return inherited(argv[2]);
  if (argc == 3 && strcmp(argv[1], "schedule") == 0) return schedule(strtoull(argv[2], NULL, 10));
  check_refusals();
  for (enum state state = 0; state < STATES; ++state) move_target(state);
  create_pinned();
  check_inheritance(argv[0]);
  return failures;
}
