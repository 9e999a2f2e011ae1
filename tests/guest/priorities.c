// SPDX-License-Identifier: Apache-2.0
// Nice values: each thread has its own, and what sched_setattr takes and refuses.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
  uint32_t least, most;
  uint64_t beyond;
};

static int number(void) { return (int)syscall(SYS_gettid); }
static int nice_of(int tid) { return getpriority(PRIO_PROCESS, (id_t)tid); }
static const char* result_of(long result) { return result == 0 ? "done" : strerror(errno); }

static void* of_a_thread(void* parent) {
  printf("inherited %d\n", nice_of(0));
  setpriority(PRIO_PROCESS, 0, 9);
  printf("own %d %d, parent's %d\n", nice_of(0), nice_of(number()), nice_of(*(int*)parent));
  setpriority(PRIO_PROCESS, (id_t) * (int*)parent, 6);
  return NULL;
}

static void threads(void) {
  pthread_t thread;
  int self = number();
  printf("nice %d\n", nice(4));
  pthread_create(&thread, NULL, of_a_thread, &self);
  pthread_join(thread, NULL);
  printf("set by the other %d\n", nice_of(0));
  printf("clamped %s %d\n", result_of(setpriority(PRIO_PROCESS, 0, 100)), nice_of(0));
  printf("no kind: %s\n", result_of(setpriority((__priority_which_t)7, 0, 0)));
  printf("no process: %s\n", result_of(setpriority(PRIO_PROCESS, 0x3ffffff, 0)));
}

static long set(struct attributes* wanted) { return syscall(SYS_sched_setattr, 0, wanted, 0); }
static struct attributes ordinary(int nice_value) {
  struct attributes wanted = {0};
  wanted.size = 48;
  wanted.nice = nice_value;
  return wanted;
}

static void attributes(void) {
  struct attributes wanted = ordinary(12), shown = {0};
  printf("taken: %s", result_of(set(&wanted)));
  syscall(SYS_sched_getattr, 0, &shown, 48, 0);
  printf(", %d %d\n", nice_of(0), shown.nice);
  wanted = ordinary(77);
  printf("clamped: %s", result_of(set(&wanted)));
  printf(", %d\n", nice_of(0));
  wanted = ordinary(3);
  wanted.flags = 0x18; /* keeps all */
  printf("kept: %s", result_of(set(&wanted)));
  printf(", %d\n", nice_of(0));
  wanted.size = 47;
  wanted.flags = 0;
  printf("too small: %s", result_of(set(&wanted)));
  printf(", %d\n", wanted.size >= 48);
  wanted.size = 8192;
  printf("too large: %s", result_of(set(&wanted)));
  printf(", %d\n", wanted.size >= 48 && wanted.size < 8192);
  /* Longer than this kernel can know, with and without something in it. */
  static struct attributes longest[64];
  memset(longest, 0, sizeof longest);
  longest[0] = ordinary(19);
  longest[0].size = 4096;
  printf("longer: %s\n", result_of(set(longest)));
  longest[50].beyond = 1;
  printf("unknown: %s", result_of(set(longest)));
  printf(", %d\n", longest[0].size >= 48 && longest[0].size < 4096);
  wanted = ordinary(19);
  wanted.size = 0;
  printf("no size: %s\n", result_of(set(&wanted)));
  wanted = ordinary(19);
  wanted.flags = 0x40;
  printf("clamps in a short structure: %s\n", result_of(set(&wanted)));
  wanted.flags = 1u << 27;
  printf("no flag: %s\n", result_of(set(&wanted)));
  wanted = ordinary(19);
  wanted.policy = 77;
  printf("no policy: %s\n", result_of(set(&wanted)));
  wanted.policy = ~0u;
  printf("negative policy: %s\n", result_of(set(&wanted)));
  wanted = ordinary(19);
  wanted.priority = 1;
  printf("priority: %s\n", result_of(set(&wanted)));
  wanted = ordinary(19);
  wanted.policy = 6; /* SCHED_DEADLINE, with no deadline */
  printf("deadline: %s\n", result_of(set(&wanted)));
  printf("bad address: %s\n", result_of(set((struct attributes*)8)));
  wanted.policy = 0;
  printf("flags of the call: %s\n", result_of(syscall(SYS_sched_setattr, 0, &wanted, 1)));
}

/* That there is no such process comes before everything else that is wrong. */
static void of_nobody(void) {
  const struct sched_param ten = {10};
  struct attributes wanted = ordinary(0);
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, NULL, 0);
  printf("gone: %s", result_of(sched_setscheduler(gone, 77, &ten)));
  printf(", %s", result_of(sched_setscheduler(gone, SCHED_FIFO, &ten)));
  printf(", %s", result_of(sched_setparam(gone, &ten)));
  wanted.policy = 77;
  printf(", %s\n", result_of(syscall(SYS_sched_setattr, gone, &wanted, 0)));
}

static void* execs_with_its_own(void* self) {
  char* const words[] = {self, "nice", NULL};
  setpriority(PRIO_PROCESS, 0, 9);
  execv(self, words);
  return NULL;
}

/* What a child sets is not its parent's, even where both share memory. */
static void children(char* self) {
  char* const words[] = {self, "nice", NULL};
  posix_spawnattr_t how;
  const struct sched_param none = {0};
  int status;
  pid_t child;
  fflush(stdout);
  if (fork() == 0) {
    printf("in a child %d", nice_of(0));
    printf(" %d\n", nice(1));
    fflush(stdout);
    execv(self, words);
  }
  wait(&status);
  posix_spawnattr_init(&how);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSCHEDULER);
  posix_spawnattr_setschedpolicy(&how, SCHED_BATCH);
  posix_spawnattr_setschedparam(&how, &none);
  posix_spawn(&child, self, NULL, &how, words, NULL);
  waitpid(child, &status, 0);
  printf("parent: nice %d, policy %d\n", nice_of(0), sched_getscheduler(0));
  fflush(stdout);
  if (fork() == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, execs_with_its_own, self);
    pthread_join(thread, NULL);
  }
  wait(&status);
}

/* Who may not be less nice again. */
static void without_rights(void) {
  if (geteuid() == 0 && setresuid(65533, 65533, 65533) != 0) return;
  const struct rlimit least = {0, 0};
  setrlimit(RLIMIT_NICE, &least);
  struct attributes wanted = ordinary(nice_of(0) - 1);
  printf("less: %s\n", result_of(setpriority(PRIO_PROCESS, 0, nice_of(0) - 1)));
  printf("less: %s\n", result_of(set(&wanted)));
  wanted = ordinary(nice_of(0) + 1);
  printf("more: %s\n", result_of(set(&wanted)));
  wanted.flags = 1;
  printf("reset on fork: %s\n", result_of(set(&wanted)));
  wanted.flags = 0;
  printf("and no more: %s\n", result_of(set(&wanted)));
  wanted.flags = 1;
  wanted.policy = SCHED_IDLE;
  printf("idle: %s\n", result_of(set(&wanted)));
  wanted.policy = SCHED_OTHER;
  printf("and no more: %s\n", result_of(set(&wanted)));
}

int main(int argc, char** argv) {
  if (argc > 1) {
    printf("after exec: nice %d, policy %d", nice_of(0), sched_getscheduler(0));
    fflush(stdout);
    if (fork() == 0) return printf(", its child sees %d\n", nice_of(getppid())), 0;
    wait(NULL);
    return 0;
  }
  setpriority(PRIO_PROCESS, 0, 5);
  threads();
  fflush(stdout);
  if (fork() == 0) return attributes(), of_nobody(), 0;
  wait(NULL);
  if (fork() == 0) {
    if (geteuid() == 0) setpriority(PRIO_PROCESS, 0, 7);
    return without_rights(), 0;
  }
  wait(NULL);
  children(argv[0]);
  return 0;
}
