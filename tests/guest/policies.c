// SPDX-License-Identifier: Apache-2.0
// Scheduling policies in the virtual machine: ordinary ones are kept for each thread, real-time ones refused
// in every way in which a program can ask, to root as well.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failures;

static void check(const char* what, int holds) {
  if (holds) return;
  printf("%s: no (errno %d)\n", what, errno);
  failures++;
}

static void* shows_policy(void* unused) {
  (void)unused;
  return (void*)(long)sched_getscheduler(0);
}

static int create_with(int policy, int priority) {
  pthread_attr_t attributes;
  const struct sched_param parameters = {priority};
  pthread_attr_init(&attributes);
  pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&attributes, policy);
  pthread_attr_setschedparam(&attributes, &parameters);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, shows_policy, NULL);
  if (error == 0) pthread_join(thread, NULL);
  return error;
}

struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

int main(void) {
  const struct sched_param none = {0}, ten = {10};
  struct sched_param shown = {7};
  check("SCHED_FIFO is refused", sched_setscheduler(0, SCHED_FIFO, &ten) == -1 && errno == EPERM);
  check("SCHED_RR is refused", sched_setscheduler(0, SCHED_RR, &ten) == -1 && errno == EPERM);
  check("FIFO needs a priority", sched_setscheduler(0, SCHED_FIFO, &none) == -1 && errno == EINVAL);
  check("OTHER has no priority", sched_setscheduler(0, SCHED_OTHER, &ten) == -1 && errno == EINVAL);
  check("no such policy", sched_setscheduler(0, 77, &none) == -1 && errno == EINVAL);
  check("no such thread", sched_getscheduler(999999) == -1 && errno == ESRCH);
  check("OTHER at first", sched_getscheduler(0) == SCHED_OTHER);
  check("priority 0", sched_getparam(0, &shown) == 0 && shown.sched_priority == 0);
  check("a priority is refused", sched_setparam(0, &ten) == -1 && errno == EINVAL);
  check("BATCH is taken",
        sched_setscheduler(0, SCHED_BATCH, &none) == 0 && sched_getscheduler(0) == SCHED_BATCH);
  pthread_t thread;
  void* policy;
  pthread_create(&thread, NULL, shows_policy, NULL);
  pthread_join(thread, &policy);
  check("and inherited", (long)policy == SCHED_BATCH);
  check("with explicit FIFO no thread begins", create_with(SCHED_FIFO, 10) == EPERM);
  check("with explicit OTHER one does", create_with(SCHED_OTHER, 0) == 0);
  check("pthread_setschedparam refuses", pthread_setschedparam(pthread_self(), SCHED_FIFO, &ten) == EPERM);
  struct attributes wanted = {sizeof wanted, SCHED_FIFO, 0, 0, 10, 0, 0, 0};
  check("sched_setattr refuses FIFO", syscall(SYS_sched_setattr, 0, &wanted, 0) == -1 && errno == EPERM);
  wanted = (struct attributes){sizeof wanted, 6, 0, 0, 0, 1000000, 2000000, 2000000};
  check("sched_setattr refuses DEADLINE", syscall(SYS_sched_setattr, 0, &wanted, 0) == -1 && errno == EPERM);
  wanted = (struct attributes){sizeof wanted, SCHED_IDLE, 1, 0, 0, 0, 0, 0};
  check("sched_setattr takes IDLE", syscall(SYS_sched_setattr, 0, &wanted, 0) == 0);
  check("which shows", sched_getscheduler(0) == (SCHED_IDLE | SCHED_RESET_ON_FORK));
  struct attributes now = {0};
  check("also in sched_getattr", syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) == 0 &&
                                     now.size == sizeof now && now.policy == SCHED_IDLE && now.flags == 1);
  struct rlimit limit = {5, 5};
  check("RLIMIT_RTPRIO is 0", getrlimit(RLIMIT_RTPRIO, &limit) == 0 && limit.rlim_max == 0);
  limit.rlim_cur = limit.rlim_max = 50;
  check("and stays it", setrlimit(RLIMIT_RTPRIO, &limit) == -1 && errno == EPERM);
  if (failures == 0) puts("all policies as they should be");
  return failures != 0;
}
