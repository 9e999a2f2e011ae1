/* SPDX-License-Identifier: Apache-2.0
 * Readiness reaches a thread that waits for it: of pipes, sockets, eventfd, timerfd, signalfd, pidfd and
 * epoll in epoll; by level, by edge and once; made ready before the wait, by another thread during it, and by
 * another process; registered before the wait and during it. Ends of files whose last writer was another
 * process, too.
 *
 * An event that is lost makes the program wait for ever; an alarm ends it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_SECONDS 40

static void expect(const char* what, long found, long expected) {
  if (found != expected) printf("%s: %ld instead of %ld\n", what, found, expected);
}

/* Something to wait for. */
enum kind { PIPE, SOCKET, EVENT, TIMER, SIGNAL, PROCESS, NESTED, KINDS };
static const char* const kind_names[] = {"pipe",     "socket", "eventfd",       "timerfd",
                                         "signalfd", "pidfd",  "epoll in epoll"};

struct source {
  enum kind kind;
  int wait;  /* who waits has this */
  int other; /* what makes it ready */
  pid_t child;
};

static struct source make_source(enum kind kind) {
  struct source source = {kind, -1, -1, 0};
  int ends[2];
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  struct epoll_event event = {.events = EPOLLIN};
  switch (kind) {
    case PIPE:
      expect("pipe", pipe(ends), 0);
      source.wait = ends[0], source.other = ends[1];
      break;
    case SOCKET:
      expect("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      source.wait = ends[0], source.other = ends[1];
      break;
    case EVENT:
      source.wait = eventfd(0, EFD_NONBLOCK);
      source.other = dup(source.wait);
      break;
    case TIMER:
      source.wait = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
      break;
    case SIGNAL:
      source.wait = signalfd(-1, &set, SFD_NONBLOCK);
      break;
    case PROCESS:
      expect("pipe", pipe(ends), 0);
      source.child = fork();
      if (source.child == 0) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 1 ? 7 : 1);
      }
      close(ends[0]);
      source.wait = (int)syscall(SYS_pidfd_open, source.child, 0);
      source.other = ends[1];
      break;
    default:
      expect("pipe", pipe(ends), 0);
      source.wait = epoll_create1(0), source.other = ends[1];
      expect("inner", epoll_ctl(source.wait, EPOLL_CTL_ADD, ends[0], &event), 0);
      source.child = ends[0]; /* to be closed */
  }
  return source;
}

static void make_ready(const struct source* source) {
  const uint64_t one = 1;
  const struct itimerspec soon = {{0, 0}, {0, 50000}};
  if (source->kind == TIMER) {
    expect("timerfd_settime", timerfd_settime(source->wait, 0, &soon, NULL), 0);
  } else if (source->kind == SIGNAL) {
    expect("kill", kill(getpid(), SIGUSR1), 0);
  } else {
    const size_t size = source->kind == EVENT ? sizeof one : 1;
    expect("write", write(source->other, &one, size), (long)size);
  }
}

static void end_source(const struct source* source) {
  char bytes[128];
  if (source->kind == SIGNAL) expect("signal", read(source->wait, bytes, sizeof bytes), sizeof bytes);
  if (source->kind == TIMER || source->kind == EVENT) expect("count", read(source->wait, bytes, 8), 8);
  if (source->kind == PROCESS) {
    siginfo_t info;
    expect("waitid", waitid(P_PIDFD, (id_t)source->wait, &info, WEXITED), 0);
    expect("status", info.si_status, 7);
  }
  if (source->kind == NESTED) close(source->child);
  close(source->wait);
  if (source->other >= 0) close(source->other);
}

/* A thread that waits. */
enum way { LEVEL, EDGE, ONCE, POLL, SELECT, WAYS };
static const char* const way_names[] = {"by level", "by edge", "once", "by poll", "by select"};

struct waiter {
  const struct source* source;
  enum way way;
  int epoll;
  int started;
  unsigned found; /* events */
};

static void* await(void* argument) {
  struct waiter* const self = argument;
  struct epoll_event event = {0};
  struct pollfd one = {self->source->wait, POLLIN, 0};
  fd_set set;
  __atomic_store_n(&self->started, 1, __ATOMIC_SEQ_CST);
  /* The end of a child may end a wait by EINTR, even with SIGCHLD ignored. */
  int ready;
  if (self->way == POLL) {
    do ready = poll(&one, 1, -1);
    while (ready == -1 && errno == EINTR);
    expect("poll", ready, 1);
    self->found = (unsigned)one.revents;
  } else if (self->way == SELECT) {
    do {
      FD_ZERO(&set);
      FD_SET(self->source->wait, &set);
      ready = select(self->source->wait + 1, &set, NULL, NULL, NULL);
    } while (ready == -1 && errno == EINTR);
    expect("select", ready, 1);
    self->found = FD_ISSET(self->source->wait, &set) ? EPOLLIN : 0;
  } else {
    do ready = epoll_wait(self->epoll, &event, 1, -1);
    while (ready == -1 && errno == EINTR);
    expect("epoll_wait", ready, 1);
    self->found = event.events;
  }
  return NULL;
}

enum time { BEFORE, DURING, FROM_PROCESS, ADDED, MODIFIED, TIMES };

static void register_source(const struct waiter* waiter, int operation, unsigned events) {
  const unsigned flags[] = {0, EPOLLET, EPOLLONESHOT, 0, 0};
  struct epoll_event event = {.events = events | flags[waiter->way]};
  if (waiter->way <= ONCE)
    expect("epoll_ctl", epoll_ctl(waiter->epoll, operation, waiter->source->wait, &event), 0);
}

/* Most often the thread waits by then; what is expected holds in any case. */
static void let_wait(const struct waiter* waiter) {
  while (!__atomic_load_n(&waiter->started, __ATOMIC_SEQ_CST)) sched_yield();
  for (int i = 0; i < 5; ++i) sched_yield();
}

static void try_one(enum kind kind, enum way way, enum time time) {
  if (way >= POLL && time >= ADDED) return;
  if (time == FROM_PROCESS && (kind == TIMER || kind == SIGNAL)) return; /* their own process's */
  const struct source source = make_source(kind);
  struct waiter waiter = {&source, way, epoll_create1(0), 0, 0};
  pthread_t thread;
  if (time != ADDED) register_source(&waiter, EPOLL_CTL_ADD, time == MODIFIED ? 0 : EPOLLIN);
  if (time == BEFORE) make_ready(&source);
  pthread_create(&thread, NULL, await, &waiter);
  if (time != BEFORE) let_wait(&waiter);
  pid_t child = 0;
  if (time == FROM_PROCESS && (child = fork()) == 0) {
    make_ready(&source);
    _exit(0);
  }
  if (time == DURING) make_ready(&source);
  if (time == ADDED || time == MODIFIED) {
    make_ready(&source);
    register_source(&waiter, time == ADDED ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, EPOLLIN);
  }
  pthread_join(thread, NULL);
  expect(kind_names[kind], waiter.found & EPOLLIN, EPOLLIN);
  if (way == EDGE || way == ONCE) {
    struct epoll_event event;
    expect("only once", epoll_wait(waiter.epoll, &event, 1, 0), 0);
    if (way == ONCE) register_source(&waiter, EPOLL_CTL_MOD, EPOLLIN);
    expect("rearmed", epoll_wait(waiter.epoll, &event, 1, 0), way == ONCE);
  }
  if (child != 0) expect("waitpid", waitpid(child, NULL, 0), child);
  end_source(&source);
  close(waiter.epoll);
}

/* The last writer is another process; it has read what is there by then. */
static void try_end(enum kind kind, enum way way) {
  const struct source source = make_source(kind);
  struct waiter waiter = {&source, way, epoll_create1(0), 0, 0};
  pthread_t thread;
  char byte;
  int go[2];
  expect("pipe", pipe(go), 0);
  fcntl(source.wait, F_SETFL, O_NONBLOCK);
  register_source(&waiter, EPOLL_CTL_ADD, EPOLLIN | EPOLLRDHUP);
  const pid_t child = fork();
  if (child == 0) {
    close(source.wait);
    expect("write", write(source.other, "x", 1), 1);
    _exit(read(go[0], &byte, 1) != 1);
  }
  close(source.other);
  pthread_create(&thread, NULL, await, &waiter);
  pthread_join(thread, NULL);
  expect("data", read(source.wait, &byte, 1), 1);
  expect("nothing yet", read(source.wait, &byte, 1) == -1 ? errno : 0, EAGAIN);
  waiter.started = 0;
  if (way == ONCE) register_source(&waiter, EPOLL_CTL_MOD, EPOLLIN | EPOLLRDHUP);
  pthread_create(&thread, NULL, await, &waiter);
  let_wait(&waiter);
  expect("go", write(go[1], "x", 1), 1);
  pthread_join(thread, NULL);
  expect("end", read(source.wait, &byte, 1), 0);
  if (way <= ONCE) expect("events", (waiter.found & (EPOLLHUP | EPOLLRDHUP)) != 0, 1);
  int status = 0;
  expect("waitpid", waitpid(child, &status, 0), child);
  expect("status", status, 0);
  close(source.wait), close(waiter.epoll), close(go[0]), close(go[1]);
}

int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  alarm(LIMIT_SECONDS);
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (enum kind kind = 0; kind < KINDS; ++kind) {
    for (enum way way = 0; way < WAYS; ++way) {
      for (enum time time = 0; time < TIMES; ++time) try_one(kind, way, time);
      if (kind <= SOCKET) try_end(kind, way);
      printf("%s %s: noticed\n", kind_names[kind], way_names[way]);
    }
  }
  return 0;
}
