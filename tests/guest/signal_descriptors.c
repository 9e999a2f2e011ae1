// SPDX-License-Identifier: Apache-2.0
// signalfd: reading, waiting by poll, select and epoll, other masks, copies, children.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sigset_t set_of(int first, int second) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, first);
  if (second != 0) sigaddset(&set, second);
  return set;
}

static int readable(int descriptor) {
  struct pollfd one = {descriptor, POLLIN, 0};
  return poll(&one, 1, 0) == 1 ? one.revents : 0;
}

static void show(int descriptor) {
  struct signalfd_siginfo info;
  memset(&info, 0xff, sizeof info);
  const ssize_t size = read(descriptor, &info, sizeof info);
  if (size < 0) {
    printf("  read: %d\n", -errno);
    return;
  }
  printf(
      "  read: %zd bytes, signal %u, code %d, from me %d, my user %d, int %d, ptr %d, status %d, overrun "
      "%u\n",
      size, info.ssi_signo, info.ssi_code, info.ssi_pid == (unsigned)getpid(), info.ssi_uid == getuid(),
      info.ssi_int, (int)info.ssi_ptr, info.ssi_status, info.ssi_overrun);
}

static void queue(int signal, int value) {
  const union sigval data = {.sival_int = value};
  sigqueue(getpid(), signal, data);
}

static void test_reading(void) {
  const sigset_t set = set_of(SIGUSR1, SIGRTMIN + 3);
  const int d = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  printf("flags %d %d\n", fcntl(d, F_GETFD) == FD_CLOEXEC, (fcntl(d, F_GETFL) & O_NONBLOCK) != 0);
  printf("empty: %d\n", readable(d));
  show(d);
  kill(getpid(), SIGUSR1);
  kill(getpid(), SIGUSR1);
  queue(SIGRTMIN + 3, 11);
  queue(SIGRTMIN + 3, 12);
  printf("pending: %d\n", readable(d));
  show(d);
  show(d);
  show(d);
  printf("taken: %d\n", readable(d));
  show(d);
  char small[100];
  const ssize_t none = read(d, small, sizeof small);
  printf("too small: %d %d\n", (int)none, errno == EINVAL);
  queue(SIGRTMIN + 3, 1), queue(SIGRTMIN + 3, 2), queue(SIGRTMIN + 3, 3);
  struct signalfd_siginfo many[2];
  printf("several: %d\n", (int)(read(d, many, sizeof many) / (ssize_t)sizeof many[0]));
  struct iovec pieces[] = {{many, 100}, {(char*)many + 100, 28}};
  printf("in pieces: %d, value %d\n", (int)readv(d, pieces, 2), many[0].ssi_int);
  pthread_kill(pthread_self(), SIGUSR1);
  show(d);
  close(d);
}

static void test_mask(void) {
  const sigset_t first = set_of(SIGUSR1, 0), second = set_of(SIGUSR2, 0);
  const int d = signalfd(-1, &first, SFD_NONBLOCK);
  kill(getpid(), SIGUSR2);
  printf("other signal: %d\n", readable(d));
  printf("changed: %d, %d\n", signalfd(d, &second, 0) == d, readable(d));
  show(d);
  int bad = signalfd(0, &second, 0);
  printf("bad: %d %d\n", bad, errno == EINVAL);
  bad = signalfd(99, &second, 0);
  printf("none: %d %d\n", bad, errno == EBADF);
  bad = signalfd(-1, &second, 1);
  printf("bad flags: %d %d\n", bad, errno == EINVAL);
  const int copy = dup(d);
  close(d);
  kill(getpid(), SIGUSR2);
  printf("copy: %d\n", readable(copy));
  show(copy);
  const int third = dup2(copy, 50);
  kill(getpid(), SIGUSR2);
  show(third);
  close(copy);
  printf("changed by the copy: %d\n", signalfd(third, &first, 0) == third);
  kill(getpid(), SIGUSR1);
  show(third);
  close(third);
}

static void* send_later(void* thread) {
  usleep(2000);
  if (thread != NULL) {
    pthread_kill(*(pthread_t*)thread, SIGUSR1);
  } else {
    kill(getpid(), SIGUSR1);
  }
  return NULL;
}

static void test_waiting(void) {
  const sigset_t set = set_of(SIGUSR1, SIGCHLD);
  const int d = signalfd(-1, &set, 0);
  pthread_t thread, self = pthread_self();
  pthread_create(&thread, NULL, send_later, NULL);
  show(d);
  pthread_join(thread, NULL);
  pthread_create(&thread, NULL, send_later, &self);
  show(d);
  pthread_join(thread, NULL);

  pthread_create(&thread, NULL, send_later, NULL);
  struct pollfd one = {d, POLLIN, 0};
  const int ready = poll(&one, 1, -1);
  printf("poll: %d %d\n", ready, one.revents);
  show(d);
  pthread_join(thread, NULL);

  pthread_create(&thread, NULL, send_later, &self);
  fd_set in;
  FD_ZERO(&in);
  FD_SET(d, &in);
  printf("select: %d %d\n", select(d + 1, &in, NULL, NULL, NULL), FD_ISSET(d, &in) != 0);
  show(d);
  pthread_join(thread, NULL);

  const int e = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = 5};
  epoll_ctl(e, EPOLL_CTL_ADD, d, &event);
  for (int i = 0; i < 3; ++i) {
    pthread_create(&thread, NULL, send_later, NULL);
    printf("epoll: %d %u\n", epoll_wait(e, &event, 1, -1), event.data.u32);
    pthread_join(thread, NULL);
    printf("edge: %d\n", epoll_wait(e, &event, 1, 0));
    if (i < 2) show(d);
  }
  show(d);
  const pid_t child = fork();
  if (child == 0) _exit(9);
  show(d);  // SIGCHLD
  waitpid(child, NULL, 0);
  timer_t timer;
  struct sigevent notify = {
      .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 77};
  const struct itimerspec once = {{0, 0}, {0, 3000000}};
  timer_create(CLOCK_MONOTONIC, &notify, &timer);
  timer_settime(timer, 0, &once, NULL);
  show(d);
  timer_delete(timer);
  close(e);
  close(d);
}

static volatile int other_pending, done;
static void* with_own_signal(void* unused) {
  pthread_kill(pthread_self(), SIGUSR2);
  other_pending = 1;
  while (!done) usleep(100);
  return unused;
}

/// What is sent to another thread is not to be read here.
static void test_other_thread(void) {
  const sigset_t set = set_of(SIGUSR2, 0);
  const int d = signalfd(-1, &set, SFD_NONBLOCK);
  pthread_t thread;
  pthread_create(&thread, NULL, with_own_signal, NULL);
  while (!other_pending) usleep(100);
  printf("another's: %d\n", readable(d));
  show(d);
  done = 1;
  pthread_join(thread, NULL);
  close(d);
}

static void test_fork(void) {
  const sigset_t set = set_of(SIGUSR1, 0);
  const int d = signalfd(-1, &set, SFD_NONBLOCK);
  kill(getpid(), SIGUSR1);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    printf("child: %d\n", readable(d));
    show(d);
    kill(getpid(), SIGUSR1);
    printf("child's own: %d\n", readable(d));
    show(d);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  printf("parent: %d\n", readable(d));
  show(d);
  // What a child sends is told with its number.
  struct signalfd_siginfo info;
  fcntl(d, F_SETFL, 0);
  const pid_t sender = fork();
  if (sender == 0) {
    const union sigval data = {.sival_int = 42};
    sigqueue(getppid(), SIGUSR1, data);
    _exit(0);
  }
  printf("from the child: %d, ", (int)read(d, &info, sizeof info));
  printf("%d %d %d\n", info.ssi_pid == (unsigned)sender, info.ssi_int, info.ssi_code);
  waitpid(sender, NULL, 0);
  close(d);
}

static volatile int handled;
static void on_signal(int signal) { handled = signal; }

/// A signal that is not in the mask ends the read, or not.
static void test_interrupt(int flags) {
  const sigset_t set = set_of(SIGUSR1, 0), alarm_alone = set_of(SIGALRM, 0);
  const int d = signalfd(-1, &set, 0);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = flags;
  sigaction(SIGALRM, &action, NULL);
  pthread_sigmask(SIG_UNBLOCK, &alarm_alone, NULL);
  handled = 0;
  // An alarm that comes before the read ends nothing: again and again.
  const struct itimerspec every = {{0, 3000000}, {0, 3000000}}, later = {{0, 0}, {0, 6000000}};
  struct sigevent notify = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  timer_t first, second;
  timer_create(CLOCK_MONOTONIC, &notify, &first);
  notify.sigev_signo = SIGUSR1;
  timer_create(CLOCK_MONOTONIC, &notify, &second);
  timer_settime(first, 0, &every, NULL);
  if (flags != 0) timer_settime(second, 0, &later, NULL);
  show(d);
  printf("handled %d\n", handled);
  timer_delete(first), timer_delete(second);
  close(d);
}

// Nobody reads a closed one: what it was for waits on as it would without it.
static void test_closed(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  const int d = signalfd(-1, &set, 0);
  close(d);
  kill(getpid(), SIGUSR1);
  poll(NULL, 0, 1);
  printf("closed: %d\n", sigtimedwait(&set, NULL, &(struct timespec){0, 0}) == SIGUSR1);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  test_closed();
  test_reading();
  test_mask();
  test_waiting();
  test_other_thread();
  test_fork();
  test_interrupt(0);
  test_interrupt(SA_RESTART);
  return 0;
}
