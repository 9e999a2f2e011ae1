// SPDX-License-Identifier: Apache-2.0
// Marks parts of its run for the virtual machine, between loops of PAIRS atomic increments each.
//
//   markers elision|sniper|gem5|transaction|sleep|parked|vfork|locks PAIRS
//
// elision: by the functions of elision.h, twice. sniper, gem5: once, by the instructions of those simulators'
// headers, with a marker of another kind in front. transaction: the first start lies in a transaction that
// commits. sleep: sleeps after the first loop, and nothing wakes it. parked:
// the start wakes a thread, which does one more loop. vfork: no marker; a child by vfork fills a page PAIRS
// times. locks: takes a lock PAIRS times in the part and in a child that is forked in it; more often before
// it, behind it, and in a child that is forked there.
#include <elision/elision.h>
#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long counter;

static void loop(long pairs) {
  for (long i = 0; i < pairs; ++i) __sync_fetch_and_add(&counter, 1);
}

// Only the marker reads RAX, and a store lies in front of it.
static inline void sniper(unsigned long command) {
  long stored;
  __asm__ volatile("movq %1, %%rax; movq $0, %0; xchg %%bx, %%bx; movl $0, %%eax"
                   : "=m"(stored)
                   : "r"(command)
                   : "rax", "memory");
}

__attribute__((target("rtm"))) static void start_in_transaction(void) {
  for (;;) {
    if (_xbegin() != _XBEGIN_STARTED) continue;
    elision_simulation_start();
    _xend();
    return;
  }
}

static sem_t go;

static void* wait_and_loop(void* pairs) {
  while (sem_wait(&go) != 0) continue;
  loop(*(const long*)pairs);
  return NULL;
}

static void wake_at_start(long pairs) {
  pthread_t thread;
  sem_init(&go, 0, 0);
  pthread_create(&thread, NULL, wait_and_loop, &pairs);
  loop(100 * pairs);  // the thread sleeps long before the start
  elision_simulation_start();
  sem_post(&go);
  pthread_join(thread, NULL);
  elision_simulation_stop();
}

static void fill_in_vfork(long times) {
  static char page[4096];
  const pid_t child = vfork();
  if (child != 0) {
    waitpid(child, NULL, 0);
    return;
  }
  for (long i = 0; i < times; ++i) {
    void* to = page;
    long count = sizeof page;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0) : "memory");
  }
  _exit(0);
}

static void take_locks(long times) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (long i = 0; i < times; ++i) {
    pthread_mutex_lock(&mutex);
    ++counter;
    pthread_mutex_unlock(&mutex);
  }
}

static void take_locks_in_child(long times) {
  const pid_t child = fork();
  if (child == 0) {
    take_locks(times);
    exit(0);
  }
  waitpid(child, NULL, 0);
}

static void take_locks_everywhere(long pairs) {
  take_locks(7 * pairs);
  elision_simulation_start();
  take_locks(pairs);
  take_locks_in_child(pairs);
  elision_simulation_stop();
  take_locks(3 * pairs);
  take_locks_in_child(5 * pairs);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* const kind = argv[1];
  const long pairs = atol(argv[2]);
  loop(pairs);
  static int word;
  if (strcmp(kind, "sleep") == 0) syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
  if (strcmp(kind, "elision") == 0) {
    for (int part = 0; part < 2; ++part) {
      elision_simulation_start();
      loop(pairs);
      elision_simulation_stop();
      loop(pairs);
    }
  } else if (strcmp(kind, "sniper") == 0) {
    sniper(4), sniper(1), loop(pairs), sniper(2), loop(pairs);
  } else if (strcmp(kind, "gem5") == 0) {
    __asm__ volatile(".byte 0x0f, 0x04, 0x5a, 0" : : : "memory");
    loop(pairs);
    __asm__ volatile(".byte 0x0f, 0x04, 0x5b, 0" : : : "memory");
    loop(pairs);
  } else if (strcmp(kind, "parked") == 0) {
    wake_at_start(pairs);
  } else if (strcmp(kind, "locks") == 0) {
    take_locks_everywhere(pairs);
  } else if (strcmp(kind, "vfork") == 0) {
    fill_in_vfork(pairs);
  } else {
    start_in_transaction();
    loop(pairs);
    elision_simulation_start(), loop(pairs), elision_simulation_stop();
  }
  printf("%ld\n", counter);
  return 0;
}
