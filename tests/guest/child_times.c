// SPDX-License-Identifier: Apache-2.0
// CPU time of children that were waited for, in every way in which it is told: that of the virtual machine,
// which a child that computes has used and one that sleeps has not.
#define _GNU_SOURCE
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }
static double used(const struct rusage* usage) { return seconds(usage->ru_utime) + seconds(usage->ru_stime); }

static double own_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void compute(double span) {
  const double end = own_time() + span;
  while (own_time() < end)
    for (volatile int i = 0; i < 100000; ++i) continue;
}

static double children(void) {
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  return used(&usage);
}

static pid_t child_that(void (*what)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child != 0) return child;
  what();
  _exit(0);
}

static void computes(void) { compute(0.05); }
static void sleeps(void) { usleep(50000); }
static void has_a_child(void) { waitpid(child_that(computes), NULL, 0); }

/// Enough of what was asked for, and not much more: the host's count would be many times that.
static int about(double span, double wanted) { return span >= wanted && span < wanted + 0.1; }

int main(int argc, char** argv) {
  if (argc > 1) {
    compute(0.05);
    return 0;
  }
  struct rusage usage;
  int status;
  printf("none at first %d\n", children() == 0);
  wait4(child_that(computes), &status, 0, &usage);
  printf("wait4 %d\n", about(used(&usage), 0.05));
  printf("getrusage %d\n", about(children(), 0.05));
  wait4(child_that(sleeps), &status, 0, &usage);
  printf("sleeping %d %d\n", used(&usage) < 0.01, about(children(), 0.05));
  siginfo_t info;
  const pid_t third = child_that(computes);
  syscall(SYS_waitid, P_PID, third, &info, WEXITED | WNOWAIT, NULL);
  printf("only looked %d\n", about(children(), 0.05));
  syscall(SYS_waitid, P_PID, third, &info, WEXITED, &usage);
  printf("waitid %d %d\n", about(used(&usage), 0.05), about(children(), 0.1));
  const pid_t stopped = child_that(computes);
  kill(stopped, SIGSTOP);
  wait4(stopped, &status, WUNTRACED, &usage);
  printf("stopped %d %d\n", WIFSTOPPED(status), about(children(), 0.1));
  kill(stopped, SIGKILL);
  wait4(stopped, &status, 0, NULL);
  printf("killed %d %d\n", WIFSIGNALED(status), about(children(), 0.1));
  wait4(child_that(has_a_child), &status, 0, &usage);
  printf("a grandchild's %d %d\n", about(used(&usage), 0.05), about(children(), 0.15));
  char* const arguments[] = {argv[0], "computes", NULL};
  pid_t spawned;
  posix_spawn(&spawned, argv[0], NULL, NULL, arguments, NULL);
  wait4(spawned, &status, 0, &usage);
  printf("spawned %d %d\n", about(used(&usage), 0.05), about(children(), 0.2));
  struct tms ticks;
  times(&ticks);
  const double told = (double)(ticks.tms_cutime + ticks.tms_cstime) / (double)sysconf(_SC_CLK_TCK);
  printf("times %d\n", told >= 0.17 && told < 0.3);
  const double before = own_time();
  compute(0.05);
  printf("own %d\n", about(own_time() - before, 0.05));
  return 0;
}
