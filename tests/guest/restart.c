// SPDX-License-Identifier: Apache-2.0
// A read that a signal interrupts: restarted with SA_RESTART, EINTR without.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int ends[2];
static volatile int handled;

static void on_alarm(int signal) {
  (void)signal;
  if (++handled == 2) (void)!write(ends[1], "x", 1);
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
  printf("read: %zd %c, interrupted %d, handled %d\n", result, byte, result < 0 && error == EINTR, handled);
}

int main(void) {
  (void)!pipe(ends);
  read_with(SA_RESTART);
  read_with(0);
  return 0;
}
