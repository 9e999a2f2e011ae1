// SPDX-License-Identifier: Apache-2.0
// Handlers: interval timers, masks, pending, suspend, wait, queued values, directed signals, one-shot
// actions.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, usr1, usr2, queued_sum, order[8], order_count;
static volatile int handled_in;

static void on_alarm(int signal) { (void)signal, ++alarms; }
static void on_usr1(int signal) { (void)signal, ++usr1, handled_in = (int)syscall(SYS_gettid); }
static void on_usr2(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  ++usr2;
  queued_sum += info->si_code == SI_QUEUE ? info->si_value.sival_int : 1000;
}
static void on_order(int signal) { order[order_count++] = signal; }

static void set(int signal, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, NULL);
}

static sigset_t only(int signal) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  return mask;
}

static void test_timer(void) {
  const struct itimerval every = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
  set(SIGALRM, on_alarm, 0);
  setitimer(ITIMER_REAL, &every, NULL);
  while (alarms < 3) pause();
  setitimer(ITIMER_REAL, &never, NULL);
  printf("alarms %d\n", alarms >= 3);
  alarms = 0;
  alarm(1);
  struct timespec left = {0, 0}, span = {20, 0};
  const int result = nanosleep(&span, &left);
  printf("sleep interrupted: %d %d, left %d, alarms %d\n", result, errno == EINTR, (int)left.tv_sec >= 17,
         alarms);
  alarms = 0;
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  const struct itimerspec once = {{0, 0}, {0, 2000000}};
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &once, NULL);
  while (alarms == 0) usleep(1000);
  timer_delete(timer);
  printf("posix timer %d\n", alarms);
  alarms = 0;  // a loop that makes no system call is interrupted too
  const struct itimerval soon = {{0, 0}, {0, 3000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  while (alarms == 0) {
  }
  printf("busy loop left\n");
}

static void test_masks(void) {
  sigset_t mask = only(SIGUSR1), old, pending;
  set(SIGUSR1, on_usr1, 0);
  sigprocmask(SIG_BLOCK, &mask, &old);
  raise(SIGUSR1);
  raise(SIGUSR1);
  sigpending(&pending);
  printf("blocked: handled %d, pending %d\n", usr1, sigismember(&pending, SIGUSR1));
  const int result = sigsuspend(&old);
  printf("suspend: %d %d, handled %d\n", result, errno == EINTR, usr1);
  sigprocmask(SIG_BLOCK, NULL, &pending);
  printf("still blocked: %d\n", sigismember(&pending, SIGUSR1));
  kill(getpid(), SIGUSR1);
  int number = 0;
  sigwait(&mask, &number);
  const struct timespec little = {0, 1000000};
  const int timed = sigtimedwait(&mask, NULL, &little);
  printf("waited for: %d, handled %d, then %d %d\n", number == SIGUSR1, usr1, timed, errno == EAGAIN);
  sigprocmask(SIG_SETMASK, &old, NULL);
}

static void test_queue(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_usr2;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGRTMIN + 1, &action, NULL);
  sigset_t mask = only(SIGRTMIN + 1), old;
  sigprocmask(SIG_BLOCK, &mask, &old);
  for (int i = 1; i <= 5; ++i) sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i});
  sigprocmask(SIG_SETMASK, &old, NULL);
  printf("queued: %d handled, sum %d\n", usr2, queued_sum);
  set(SIGHUP, on_order, 0);
  set(SIGTERM, on_order, SA_RESETHAND);
  sigemptyset(&mask);
  sigaddset(&mask, SIGHUP);
  sigaddset(&mask, SIGTERM);
  sigprocmask(SIG_BLOCK, &mask, &old);
  raise(SIGTERM);
  raise(SIGHUP);
  sigprocmask(SIG_SETMASK, &old, NULL);
  struct sigaction now;
  sigaction(SIGTERM, NULL, &now);
  printf("order: %d handled, reset %d\n", order_count, now.sa_handler == SIG_DFL);
}

static void* sleeping_thread(void* tid) {
  *(int*)tid = (int)syscall(SYS_gettid);
  const struct timespec span = {30, 0};
  const int result = nanosleep(&span, NULL);
  return (void*)(long)(result == -1 && errno == EINTR);
}

static void test_directed(void) {
  pthread_t thread;
  int tid = 0;
  void* interrupted;
  pthread_create(&thread, NULL, sleeping_thread, &tid);
  // One that comes before it sleeps ends nothing: again and again.
  while (pthread_tryjoin_np(thread, &interrupted) == EBUSY) {
    pthread_kill(thread, SIGUSR1);
    usleep(1000);
  }
  printf("directed: interrupted %d, in its thread %d\n", (int)(long)interrupted, handled_in == tid);
}

int main(void) {
  test_timer();
  test_masks();
  test_queue();
  test_directed();
  return 0;
}
