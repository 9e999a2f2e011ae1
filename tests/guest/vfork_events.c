/* SPDX-License-Identifier: Apache-2.0
 * A process with several threads makes children by vfork. What becomes ready for its other threads in the
 * moment in which vfork returns reaches them: signals, data and ends of pipes, by whatever way they wait; and
 * whatever becomes of the child, its parent goes on.
 *
 * An event that is lost makes the program wait for ever; an alarm ends it.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_SECONDS 40
#define CALLS 64 /* whatever is done every so many calls is done in each place once */

static void expect(const char* what, long found, long expected) {
  if (found != expected) printf("%s: %ld instead of %ld\n", what, found, expected);
}

static void make_calls(int count) {
  for (int i = 0; i < count; ++i) syscall(SYS_getppid);
}

/* A thread waits for SIGCHLD, which comes as vfork returns. */
static void* await_child_signal(void* argument) {
  sigset_t set;
  int signal = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (int i = 0; i < *(int*)argument; ++i) expect("sigwait", sigwait(&set, &signal), 0);
  return NULL;
}

static void signals_at_return(void) {
  pthread_t thread;
  int rounds = 1;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  for (int i = 0; i < 20; ++i) {
    pthread_create(&thread, NULL, await_child_signal, &rounds);
    sched_yield();
    const pid_t child = vfork();
    if (child == 0) _exit(3);
    pthread_join(thread, NULL);
    int status = 0;
    expect("waitpid", waitpid(child, &status, 0), child);
    expect("status", WEXITSTATUS(status), 3);
  }
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  printf("signals as vfork returns: taken\n");
}

/* A thread reads what the child writes, and the end of its file. */
enum way { READ, POLL, SELECT, EPOLL, EPOLL_EDGES, WAYS };
static const char* const way_names[] = {"read", "poll", "select", "epoll", "epoll with edges"};

struct reader {
  enum way way;
  int pipe;
  int epoll;
  int taken; /* bytes; -1: the end */
};

static void await_input(const struct reader* self) {
  struct pollfd one = {self->pipe, POLLIN, 0};
  struct epoll_event event;
  fd_set set;
  FD_ZERO(&set);
  FD_SET(self->pipe, &set);
  if (self->way == POLL) expect("poll", poll(&one, 1, -1), 1);
  if (self->way == SELECT) expect("select", select(self->pipe + 1, &set, NULL, NULL, NULL), 1);
  if (self->way >= EPOLL) expect("epoll", epoll_wait(self->epoll, &event, 1, -1), 1);
}

static void* take_input(void* argument) {
  struct reader* const self = argument;
  for (;;) {
    char byte;
    await_input(self);
    const long got = read(self->pipe, &byte, 1);
    __atomic_store_n(&self->taken, got == 1 ? self->taken + 1 : -1, __ATOMIC_SEQ_CST);
    if (got != 1) return NULL;
  }
}

static void await_count(const struct reader* reader, int count) {
  const struct timespec delay = {0, 20000};
  while (__atomic_load_n(&reader->taken, __ATOMIC_SEQ_CST) != count) nanosleep(&delay, NULL);
}

static void input_at_return(enum way way) {
  int ends[2];
  pthread_t thread;
  expect("pipe", pipe(ends), 0);
  struct reader reader = {way, ends[0], epoll_create1(0), 0};
  struct epoll_event event = {.events = EPOLLIN | (way == EPOLL_EDGES ? EPOLLET : 0)};
  expect("epoll_ctl", epoll_ctl(reader.epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
  pthread_create(&thread, NULL, take_input, &reader);
  for (int i = 1; i <= CALLS; ++i) {
    make_calls(i % 3);
    const pid_t child = vfork();
    if (child == 0) {
      const long sent = write(ends[1], "x", 1);
      make_calls(i);
      _exit((int)sent);
    }
    await_count(&reader, i);
    expect("waitpid", waitpid(child, NULL, 0), child);
  }
  /* The last writer is the child. */
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    make_calls(CALLS);
    _exit(0);
  }
  close(ends[1]);
  pthread_join(thread, NULL);
  expect("waitpid", waitpid(child, NULL, 0), child);
  expect("end of the file", reader.taken, -1);
  close(ends[0]);
  close(reader.epoll);
  printf("input as vfork returns, by %s: taken\n", way_names[way]);
}

/* A thread waits for a child that ends just before another thread calls vfork; the vfork child makes calls,
 * and then lives on until it is told that the first was reaped. */
static void* reap(void* argument) {
  expect("waitpid", waitpid(*(pid_t*)argument, NULL, 0), *(pid_t*)argument);
  return NULL;
}

static void children_before(const char* program) {
  sigset_t set, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  for (int i = 0; i < 5; ++i) {
    int hold[2], go[2];
    pthread_t thread;
    struct timespec now = {0, 0};
    expect("pipe", pipe(hold) | pipe(go), 0);
    pid_t first = fork();
    if (first == 0) {
      char byte;
      _exit(read(go[0], &byte, 1) != 1);
    }
    pthread_create(&thread, NULL, reap, &first);
    sched_yield();
    expect("write", write(go[1], "x", 1), 1);
    do sigpending(&pending);
    while (!sigismember(&pending, SIGCHLD));
    const pid_t second = vfork();
    if (second == 0) {
      make_calls(2 * CALLS);
      dup2(hold[0], 0);
      close(hold[1]);
      execl(program, program, "hold", (char*)NULL);
      _exit(1);
    }
    pthread_join(thread, NULL);
    close(hold[1]);
    int status = -1;
    expect("waitpid", waitpid(second, &status, 0), second);
    expect("status", status, 0);
    expect("signal", sigtimedwait(&set, NULL, &now), SIGCHLD);
    close(hold[0]), close(go[0]), close(go[1]);
  }
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  printf("children that end before vfork: reaped\n");
}

static int hold(void) {
  char byte;
  return read(0, &byte, 1) != 0;
}

/* A vfork child is killed in its sleep. */
static void* idle_until_end(void* argument) {
  char byte;
  expect("end", read(*(int*)argument, &byte, 1), 0);
  return NULL;
}

static void killed_in_sleep(void) {
  int name[2], end[2];
  pthread_t thread;
  expect("pipe", pipe(name) | pipe(end), 0);
  pthread_create(&thread, NULL, idle_until_end, &end[0]);
  const pid_t killer = fork();
  if (killer == 0) {
    pid_t victim = 0;
    const struct timespec delay = {0, 1000000};
    if (read(name[0], &victim, sizeof victim) != sizeof victim) _exit(1);
    nanosleep(&delay, NULL);
    _exit(kill(victim, SIGKILL) != 0);
  }
  const pid_t child = vfork();
  if (child == 0) {
    const pid_t self = getpid();
    const struct timespec long_time = {1000, 0};
    if (write(name[1], &self, sizeof self) == sizeof self) nanosleep(&long_time, NULL);
    _exit(1);
  }
  int status = 0;
  expect("waitpid", waitpid(child, &status, 0), child);
  expect("signal", WTERMSIG(status), SIGKILL);
  expect("waitpid", waitpid(killer, &status, 0), killer);
  expect("status", status, 0);
  close(end[1]);
  pthread_join(thread, NULL);
  printf("killed in its sleep: its parent goes on\n");
}

/* A vfork child may make processes, too. */
static void nested(void) {
  int end[2];
  pthread_t thread;
  expect("pipe", pipe(end), 0);
  pthread_create(&thread, NULL, idle_until_end, &end[0]);
  const pid_t child = vfork();
  if (child == 0) {
    const pid_t second = vfork();
    if (second == 0) _exit(4);
    int status = 0;
    if (waitpid(second, &status, 0) != second) _exit(1);
    const pid_t third = fork();
    if (third == 0) _exit(5);
    int other = 0;
    if (waitpid(third, &other, 0) != third) _exit(2);
    _exit(WEXITSTATUS(status) * 10 + WEXITSTATUS(other));
  }
  int status = 0;
  expect("waitpid", waitpid(child, &status, 0), child);
  expect("status", WEXITSTATUS(status), 45);
  close(end[1]);
  pthread_join(thread, NULL);
  printf("children of a vfork child: reaped\n");
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "hold") == 0) return hold();
  alarm(LIMIT_SECONDS);
  setvbuf(stdout, NULL, _IOLBF, 0);
  signals_at_return();
  for (enum way way = 0; way < WAYS; ++way) input_at_return(way);
  children_before(argv[0]);
  killed_in_sleep();
  nested();
  return 0;
}
