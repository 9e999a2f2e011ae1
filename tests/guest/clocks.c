// SPDX-License-Identifier: Apache-2.0
// Clocks, sleeping, CPU time, CPUs.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static long long read_ns(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void* on_cpu(void* argument) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((long)argument, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) return (void*)-1L;
  return (void*)(long)sched_getcpu();
}

int main(void) {
  long long before = read_ns(CLOCK_MONOTONIC);
  int backwards = 0;
  for (int i = 0; i < 1000; ++i) {
    const long long now = read_ns(CLOCK_MONOTONIC);
    backwards += now < before;
    before = now;
  }
  printf("backwards %d\n", backwards);
  const struct timespec span = {0, 15000000};
  nanosleep(&span, NULL);
  printf("slept long enough %d\n", read_ns(CLOCK_MONOTONIC) - before >= 15000000);
  struct timespec rest = {7, 7};
  nanosleep(&span, &rest);
  clock_nanosleep(CLOCK_MONOTONIC, 0, &span, &rest);
  printf("rest of a whole sleep untouched %d\n", rest.tv_sec == 7 && rest.tv_nsec == 7);
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += 5000000;
  if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
  const int absolute = clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
  printf("absolute %d, reached %d\n", absolute,
         read_ns(CLOCK_REALTIME) >= at.tv_sec * 1000000000LL + at.tv_nsec);
  struct timeval day;
  gettimeofday(&day, NULL);
  const time_t now = time(NULL);
  printf("clocks agree %d, year plausible %d\n", now - day.tv_sec <= 1, now > 1700000000);
  const long long cpu = read_ns(CLOCK_PROCESS_CPUTIME_ID), thread = read_ns(CLOCK_THREAD_CPUTIME_ID);
  volatile long sum = 0;
  for (int i = 0; i < 3000000; ++i) sum += i;
  printf("CPU time passes %d %d\n", read_ns(CLOCK_PROCESS_CPUTIME_ID) > cpu,
         read_ns(CLOCK_THREAD_CPUTIME_ID) > thread);
  const long long start = read_ns(CLOCK_PROCESS_CPUTIME_ID);
  usleep(50000);
  printf("sleeping costs none %d\n", read_ns(CLOCK_PROCESS_CPUTIME_ID) - start < 20000000);
  struct rusage usage;
  struct tms times_used;
  printf("usage %d %d\n", getrusage(RUSAGE_SELF, &usage), times(&times_used) != (clock_t)-1);
  printf("bad clock %d\n", clock_gettime(99, &at) == -1 && errno == EINVAL);
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  const int cpus = CPU_COUNT(&set);
  // Fewer under taskset or in a cpuset; machine_seen has the virtual machine's number.
  printf("CPUs agree %d\n", cpus > 0 && cpus <= sysconf(_SC_NPROCESSORS_ONLN));
  int first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  pthread_t t;
  void* seen;
  pthread_create(&t, NULL, on_cpu, (void*)(long)first);
  pthread_join(t, &seen);
  printf("on its CPU %d\n", (int)(long)seen == first);
  CPU_ZERO(&set);
  printf("no CPU %d\n", sched_setaffinity(0, sizeof set, &set) == -1 && errno == EINVAL);
  return 0;
}
