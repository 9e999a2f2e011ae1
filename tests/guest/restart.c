// SPDX-License-Identifier: Apache-2.0
// Calls that a signal interrupts: a read, restarted with SA_RESTART, EINTR without; select.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <unistd.h>

static int ends[2];
static volatile int handled;

// Far more alarms than can come one by one between setitimer and the call: those that wait while the program
// is kept from running are but one.
enum { kMany = 10 };

static void on_alarm(int signal) {
  (void)signal;
  if (++handled == kMany) (void)!write(ends[1], "x", 1);
}

static void read_with(int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm;
  action.sa_flags = flags;
  sigaction(SIGALRM, &action, NULL);
  handled = 0;
  const struct itimerval every = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
  char byte = '-';
  setitimer(ITIMER_REAL, &every, NULL);
  const ssize_t result = read(ends[0], &byte, 1);
  const int error = errno;
  setitimer(ITIMER_REAL, &never, NULL);
  printf("read: %zd %c, interrupted %d, restarted %d\n", result, byte, result < 0 && error == EINTR,
         handled >= kMany);
}

// Of 100 seconds some are left, and not all.
static int some_left(const struct timeval* limit) { return limit->tv_sec >= 40 && limit->tv_sec < 100; }

// What select is given stays as it was if a signal ends it, but for the time; so programs ask again with it.
static void select_again(void) {
  (void)!pipe(ends);
  handled = kMany;  // the handler writes nothing
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  const struct itimerval every = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
  struct timeval limit = {100, 0};
  setitimer(ITIMER_REAL, &every, NULL);
  const int result = select(ends[0] + 1, &set, NULL, NULL, &limit);
  const int error = errno;
  setitimer(ITIMER_REAL, &never, NULL);
  printf("select: %d, interrupted %d, still asked for %d, some time used %d\n", result, error == EINTR,
         FD_ISSET(ends[0], &set) != 0, some_left(&limit));
  (void)!write(ends[1], "y", 1);
  const int ready = select(ends[0] + 1, &set, NULL, NULL, &limit);
  printf("then: %d, %d, time left %d\n", ready, FD_ISSET(ends[0], &set) != 0, some_left(&limit));
  (void)!read(ends[0], &(char){0}, 1);
  limit = (struct timeval){0, 1000};
  const int late = select(ends[0] + 1, &set, NULL, NULL, &limit);
  printf("too late: %d, %d, time left %d\n", late, FD_ISSET(ends[0], &set) != 0, limit.tv_sec != 0 || limit.tv_usec != 0);
}

// A mask that is given to a wait holds for the wait alone, also if no signal comes.
static void mask_for_the_wait(void) {
  sigset_t usr1, before, after;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_SETMASK, NULL, &before);
  (void)!write(ends[1], "z", 1);
  struct pollfd wait = {ends[0], POLLIN, 0};
  const int ready = ppoll(&wait, 1, NULL, &usr1);
  sigprocmask(SIG_SETMASK, NULL, &after);
  printf("ppoll: %d, blocked %d, then %d\n", ready, sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
  (void)!read(ends[0], &(char){0}, 1);
  const struct timespec soon = {0, 1000000};
  const int late = ppoll(&wait, 1, &soon, &usr1);
  sigprocmask(SIG_SETMASK, NULL, &after);
  printf("too late: %d, blocked then %d\n", late, sigismember(&after, SIGUSR1));
}

int main(void) {
  (void)!pipe(ends);
  read_with(SA_RESTART);
  read_with(0);
  close(ends[0]), close(ends[1]);
  select_again();
  mask_for_the_wait();
  return 0;
}
