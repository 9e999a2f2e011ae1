// SPDX-License-Identifier: Apache-2.0
// What sigaction, masks, alternate stacks and siginfo say in detail; signals that come while calls wait.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

static volatile sig_atomic_t count, depth, deepest, on_alternate;
static volatile sig_atomic_t raised;
static siginfo_t last;
static stack_t stack;
static char* area;
static sigjmp_buf escape;

static int on_area(void) {
  char here;
  return &here >= area && &here < area + 65536;
}

static void act(int signal, void (*handler)(int, siginfo_t*, void*), int flags, int masked) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigemptyset(&action.sa_mask);
  if (masked != 0) sigaddset(&action.sa_mask, masked);
  if (sigaction(signal, &action, NULL) != 0) perror("sigaction");
}

static void note(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  ++count;
  last = *info;
  on_alternate = on_area();
}

static void nest(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context;
  if (++depth > deepest) deepest = depth;
  if (++raised < 3) raise(signal);
  --depth;
}

/// SIGUSR2 comes while the handler runs or, if the handler blocks it, afterwards.
static volatile sig_atomic_t count_inside;
static void raise_second(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info, (void)context;
  raise(SIGUSR2);
  count_inside = count;
}

static void test_mask_of_handler(int masked) {
  count = 0;
  act(SIGUSR2, note, 0, 0);
  act(SIGUSR1, raise_second, 0, masked);
  raise(SIGUSR1);
  printf("handler that blocks %d: inside %d, afterwards %d\n", masked, (int)count_inside, (int)count);
  count = 0;
}

static void test_flags(void) {
  act(SIGUSR1, nest, SA_NODEFER, 0);
  raise(SIGUSR1);
  printf("nodefer: depth %d\n", (int)deepest);
  deepest = raised = 0;
  act(SIGUSR1, nest, 0, 0);
  raise(SIGUSR1);  // those that it raises come one after the other
  printf("deferred: depth %d\n", (int)deepest);
  act(SIGUSR1, note, SA_RESETHAND, 0);
  raise(SIGUSR1);
  struct sigaction now;
  sigaction(SIGUSR1, NULL, &now);
  printf("one shot: %d, default again %d, flags %d\n", (int)count, now.sa_handler == SIG_DFL,
         (now.sa_flags & SA_RESETHAND) != 0);
  act(SIGUSR1, note, SA_RESTART | SA_NODEFER | SA_ONSTACK, SIGUSR2);
  sigaction(SIGUSR1, NULL, &now);
  printf("flags kept: %d, mask %d %d\n",
         (now.sa_flags & 0xffffffff & ~0x04000000) == (SA_SIGINFO | SA_RESTART | SA_NODEFER | SA_ONSTACK),
         sigismember(&now.sa_mask, SIGUSR2), sigismember(&now.sa_mask, SIGUSR1));
  test_mask_of_handler(0);
  test_mask_of_handler(SIGUSR2);
  int result = sigaction(SIGKILL, &now, NULL);
  printf("SIGKILL: %d %d\n", result, errno == EINVAL);
  result = sigaction(65, &now, NULL);
  printf("65: %d %d\n", result, errno == EINVAL);
}

static void alternate(int flags) {
  stack.ss_sp = area;
  stack.ss_size = 65536;
  stack.ss_flags = flags;
  if (sigaltstack(&stack, NULL) != 0) printf("sigaltstack: %d\n", errno);
}

static void ask(int signal, siginfo_t* info, void* context) {
  stack_t now;
  sigaltstack(NULL, &now);
  const ucontext_t* where = context;
  printf("  in the handler: on it %d, flags %#x, in the context %#x\n", on_area(), now.ss_flags,
         where->uc_stack.ss_flags);
  const int result = sigaltstack(&stack, NULL);
  printf("  changed there: %d %d\n", result, result != 0 && errno == EPERM);
  (void)signal, (void)info;
}

static int overflow(volatile int* from) {
  volatile int here[1024];
  here[0] = *from + 1;
  return *from < 0 ? 0 : overflow(here) + here[0];
}

static void leave(int signal, siginfo_t* info, void* context) {
  (void)context;
  on_alternate = on_area();
  last = *info;
  siglongjmp(escape, signal);
}

static void* overflows(void* unused) {
  alternate(0);
  act(SIGSEGV, leave, SA_ONSTACK, 0);
  for (int i = 0; i < 2; ++i) {
    volatile int start = 0;
    const int signal = sigsetjmp(escape, 1);
    if (signal == 0) overflow(&start);
    printf("overflow: signal %d, on the alternate stack %d\n", signal, (int)on_alternate);
  }
  return unused;
}

static void test_stacks(void) {
  stack_t now;
  sigaltstack(NULL, &now);
  printf("no stack: flags %d\n", now.ss_flags);
  area = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  alternate(0);
  act(SIGUSR1, ask, SA_ONSTACK, 0);
  raise(SIGUSR1);
  act(SIGUSR1, note, 0, 0);
  raise(SIGUSR1);
  printf("without SA_ONSTACK: %d\n", (int)on_alternate);
  alternate((int)SS_AUTODISARM);
  act(SIGUSR1, ask, SA_ONSTACK, 0);
  raise(SIGUSR1);
  sigaltstack(NULL, &now);
  printf("armed again: %#x, %d\n", now.ss_flags, now.ss_size == 65536);
  act(SIGUSR1, note, SA_ONSTACK, 0);
  raise(SIGUSR1);
  sigaltstack(NULL, &now);
  printf("armed by the return: %#x, %d\n", now.ss_flags, now.ss_size == 65536);
  alternate(SS_DISABLE);
  sigaltstack(NULL, &now);
  printf("disabled: %d %zu\n", now.ss_flags, now.ss_size);
  stack.ss_size = 100, stack.ss_flags = 0;
  int result = sigaltstack(&stack, NULL);
  printf("small: %d %d\n", result, errno == ENOMEM);
  stack.ss_size = 65536, stack.ss_flags = 77;
  result = sigaltstack(&stack, NULL);
  printf("odd flags: %d %d\n", result, errno == EINVAL);
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  pthread_create(&thread, &attributes, overflows, NULL);
  pthread_join(thread, NULL);
}

static void show(const char* name) {
  printf("%s: count %d, signal %d, code %d, pid %d, uid %d", name, (int)count, last.si_signo, last.si_code,
         last.si_pid == getpid(), last.si_uid == getuid());
  if (last.si_code == SI_QUEUE || last.si_code == SI_TIMER) printf(", value %d", last.si_value.sival_int);
  printf("\n");
  count = 0;
}

static sem_t posted;
static void* waits_long(void* unused) {
  sem_post(&posted);
  while (count == 0) usleep(100);
  return unused;
}

static void test_siginfo(void) {
  const union sigval value = {.sival_int = 31};
  act(SIGUSR1, note, 0, 0);
  count = 0;
  kill(getpid(), SIGUSR1), show("kill");
  raise(SIGUSR1), show("raise");
  sigqueue(getpid(), SIGUSR1, value), show("sigqueue");
  pthread_sigqueue(pthread_self(), SIGUSR1, value), show("pthread_sigqueue");
  pthread_t thread;
  sem_init(&posted, 0, 0);
  pthread_create(&thread, NULL, waits_long, NULL);
  sem_wait(&posted);
  pthread_kill(thread, SIGUSR1);
  pthread_join(thread, NULL);
  show("pthread_kill");
  printf("nobody: %d %d\n", (int)syscall(SYS_tgkill, getpid(), 1 << 22, SIGUSR1), errno == ESRCH);
  printf("no signal: %d %d\n", kill(getpid(), 0), kill(getpid(), 65));

  act(SIGFPE, leave, 0, 0), act(SIGILL, leave, 0, 0), act(SIGBUS, leave, 0, 0), act(SIGTRAP, leave, 0, 0);
  act(SIGSEGV, leave, 0, 0);
  volatile int zero = 0;
  int signal;
  if ((signal = sigsetjmp(escape, 1)) == 0) zero = 1 / zero;
  printf("divide: %d code %d\n", signal, last.si_code);
  if ((signal = sigsetjmp(escape, 1)) == 0) __builtin_trap();
  printf("undefined: %d code %d\n", signal, last.si_code);
  char* const page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if ((signal = sigsetjmp(escape, 1)) == 0) *(volatile char*)(page + 5) = 1;
  printf("read-only: %d code %d, address %d\n", signal, last.si_code, last.si_addr == page + 5);
  munmap(page, 8192);
  if ((signal = sigsetjmp(escape, 1)) == 0) *(volatile char*)(page + 7) = 1;
  printf("unmapped: %d code %d, address %d\n", signal, last.si_code, last.si_addr == page + 7);
  const int file = memfd_create("short", 0);
  char* const beyond = mmap(NULL, 8192, PROT_READ, MAP_SHARED, file, 0);
  if ((signal = sigsetjmp(escape, 1)) == 0) zero = *(volatile char*)(beyond + 4096);
  printf("beyond the file: %d code %d, address %d\n", signal, last.si_code, last.si_addr == beyond + 4096);
  if ((signal = sigsetjmp(escape, 1)) == 0) __asm__ volatile("int3");
  printf("breakpoint: %d code %d\n", signal, last.si_code);
}

static void show_child(const char* name, pid_t child) {
  printf("%s: signal %d, code %d, pid %d, status %d\n", name, last.si_signo, last.si_code,
         last.si_pid == child, last.si_status);
}

static void wait_for_signal(void) {
  sigset_t none;
  sigemptyset(&none);
  while (count == 0) sigsuspend(&none);
  count = 0;
}

static void test_children(void) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  act(SIGCHLD, note, 0, 0);
  count = 0;
  int status;
  pid_t child = fork();
  if (child == 0) _exit(3);
  wait_for_signal();
  show_child("exited", child);
  waitpid(child, &status, 0);
  child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  kill(child, SIGSTOP);
  wait_for_signal();
  show_child("stopped", child);
  printf("  wait: %d, stopped %d by %d\n", waitpid(child, &status, WUNTRACED) == child, WIFSTOPPED(status),
         WSTOPSIG(status));
  kill(child, SIGCONT);
  wait_for_signal();
  show_child("continued", child);
  printf("  wait: %d, continued %d\n", waitpid(child, &status, WCONTINUED) == child, WIFCONTINUED(status));
  kill(child, SIGTERM);
  wait_for_signal();
  show_child("killed", child);
  waitpid(child, &status, 0);

  act(SIGCHLD, note, SA_NOCLDSTOP, 0);
  child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(4);
  }
  printf("no news of stops: %d %d\n", waitpid(child, &status, WUNTRACED) == child, WIFSTOPPED(status));
  sigset_t pending;
  sigpending(&pending);
  printf("  pending %d\n", sigismember(&pending, SIGCHLD));
  kill(child, SIGCONT);
  wait_for_signal();
  show_child("then exited", child);
  waitpid(child, &status, 0);

  act(SIGCHLD, note, SA_NOCLDWAIT, 0);
  child = fork();
  if (child == 0) _exit(5);
  const int result = waitpid(child, &status, 0);
  printf("no zombies: %d %d\n", result, errno == ECHILD);
  signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_UNBLOCK, &blocked, NULL);
}

static int ends[2];

/// Sends SIGUSR1 to the process once it is told to, and again until it is killed: whenever the first comes,
/// none is lost between the test of a flag and the wait.
static pid_t start_sender(void) {
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  for (;;) {
    kill(parent, SIGUSR1);
    usleep(500);
  }
}

static void stop(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

/// Each call opens the mask for its duration alone: the signal that waits already ends it at once, and
/// afterwards it is blocked again.
static void test_atomic_masks(void) {
  sigset_t blocked, none, pending;
  sigemptyset(&none);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  act(SIGUSR1, note, SA_RESTART, 0);
  (void)!pipe(ends);
  const int e = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(e, EPOLL_CTL_ADD, ends[0], &event);
  for (int way = 0; way < 5; ++way) {
    for (int pending_before = 0; pending_before < 2; ++pending_before) {
      count = 0;
      pid_t sender = 0;
      if (pending_before) {
        raise(SIGUSR1);
      } else {
        sender = start_sender();
      }
      struct pollfd one = {ends[0], POLLIN, 0};
      fd_set in;
      FD_ZERO(&in);
      FD_SET(ends[0], &in);
      const struct timespec far = {100, 0};
      int result = 0;
      switch (way) {
        case 0:
          result = sigsuspend(&none);
          break;
        case 1:
          result = ppoll(&one, 1, &far, &none);
          break;
        case 2:
          result = pselect(ends[0] + 1, &in, NULL, NULL, NULL, &none);
          break;
        case 3:
          result = epoll_pwait(e, &event, 1, -1, &none);
          break;
        default:
          result = (int)syscall(SYS_epoll_pwait2, e, &event, 1, &far, &none, 8);
      }
      const int error = errno;
      if (sender != 0) stop(sender);
      sigset_t mask;
      sigprocmask(SIG_BLOCK, NULL, &mask);
      printf("way %d, %s: %d %d, handled %d, blocked again %d\n", way, pending_before ? "before" : "during",
             result, error == EINTR, count >= 1, sigismember(&mask, SIGUSR1));
      sigpending(&pending);
      if (sigismember(&pending, SIGUSR1)) {
        const struct timespec now = {0, 0};
        sigtimedwait(&blocked, NULL, &now);
      }
    }
  }
  // A ready descriptor comes first: the signal stays pending.
  (void)!write(ends[1], "x", 1);
  raise(SIGUSR1);
  count = 0;
  struct pollfd one = {ends[0], POLLIN, 0};
  const struct timespec now = {0, 0};
  const int result = ppoll(&one, 1, &now, &blocked);
  sigpending(&pending);
  printf("ready: %d, handled %d, pending %d\n", result, (int)count, sigismember(&pending, SIGUSR1));
  siginfo_t info;
  const int taken = sigwaitinfo(&blocked, &info);
  printf("sigwaitinfo: %d, code %d\n", taken, info.si_code);
  const int nothing = sigtimedwait(&blocked, &info, &now);
  printf("sigtimedwait: %d %d\n", nothing, errno == EAGAIN);
  (void)!read(ends[0], &info, 1);
  close(e);
  sigprocmask(SIG_UNBLOCK, &blocked, NULL);
}

static int sockets[2];
static sem_t never;

/// The limits are for those that no signal ends although it should.
static long waiting_call(int which) {
  char byte;
  const struct timespec span = {10, 0};
  struct pollfd one = {ends[0], POLLIN, 0};
  fd_set in;
  FD_ZERO(&in);
  FD_SET(ends[0], &in);
  struct timeval time = {10, 0};
  struct timespec at;
  int word = 0;
  switch (which) {
    case 0:
      return read(ends[0], &byte, 1);
    case 1:
      return recv(sockets[0], &byte, 1, 0);
    case 2:
      return poll(&one, 1, 10000);
    case 3:
      return select(ends[0] + 1, &in, NULL, NULL, &time);
    case 4:
      return nanosleep(&span, NULL);
    case 5:
      return -clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
    case 6:
      return sem_wait(&never);
    case 7:
      clock_gettime(CLOCK_REALTIME, &at);
      at.tv_sec += 10;
      return sem_timedwait(&never, &at);
    case 8:
      return waitpid(-1, NULL, 0);
    case 9:
      return syscall(SYS_futex, &word, 0, 0, &span);
    case 10:
      return pause();
    default: {
      siginfo_t info;
      return waitid(P_ALL, 0, &info, WEXITED);
    }
  }
}

// Far more signals than can come one by one between setitimer and the call: those that wait while the thread
// is kept from running are but one.
enum { kMany = 10 };

static void satisfy(int signal, siginfo_t* info, void* context) {
  note(signal, info, context);
  // The last signal also ends what was restarted.
  if (count < kMany) return;
  (void)!write(ends[1], "x", 1);
  (void)!write(sockets[1], "x", 1);
  sem_post(&never);
}

static void test_restarts(int flags) {
  (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
  sem_init(&never, 0, 0);
  act(SIGALRM, satisfy, flags, 0);
  for (int which = 0; which <= 11; ++which) {
    pid_t child = 0;
    if (which == 8 || which == 11) {
      child = fork();
      if (child == 0) {
        for (;;) pause();
      }
    }
    if (flags != 0 && child != 0) {
      stop(child);  // nothing would end the restarted call but the child
      continue;
    }
    count = 0;
    const struct itimerval every = {{0, 5000}, {0, 5000}}, off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    errno = 0;
    const long result = waiting_call(which);
    const int error = errno;
    setitimer(ITIMER_REAL, &off, NULL);
    printf("call %d: %ld, interrupted %d, restarted %d\n", which, result, error == EINTR || result == -EINTR,
           count >= kMany);
    char byte;
    fcntl(ends[0], F_SETFL, O_NONBLOCK), fcntl(sockets[0], F_SETFL, O_NONBLOCK);
    while (read(ends[0], &byte, 1) == 1) {
    }
    while (read(sockets[0], &byte, 1) == 1) {
    }
    while (sem_trywait(&never) == 0) {
    }
    fcntl(ends[0], F_SETFL, 0), fcntl(sockets[0], F_SETFL, 0);
    if (child != 0) stop(child);
  }
  close(sockets[0]), close(sockets[1]);
}

static void test_overrun(void) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGRTMIN + 1);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  timer_t timer;
  struct sigevent event = {
      .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1, .sigev_value.sival_int = 8};
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  const struct itimerspec every = {{0, 1000000}, {0, 1000000}}, off = {{0, 0}, {0, 0}};
  timer_settime(timer, 0, &every, NULL);
  usleep(20500);
  siginfo_t info;
  const int signal = sigwaitinfo(&blocked, &info);
  const int told = timer_getoverrun(timer);
  timer_settime(timer, 0, &off, NULL);
  printf("overrun: %d, code %d, value %d, many %d, as told %d\n", signal == SIGRTMIN + 1, info.si_code,
         info.si_value.sival_int, info.si_overrun >= 15, told == info.si_overrun);
  const struct timespec now = {0, 0};
  while (sigtimedwait(&blocked, &info, &now) > 0) {
  }
  timer_delete(timer);
  event.sigev_notify = SIGEV_NONE;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &every, NULL);
  usleep(3000);
  struct itimerspec left;
  timer_gettime(timer, &left);
  printf("without signal: %d, left %d, interval %ld\n", sigtimedwait(&blocked, &info, &now),
         left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 1000000, left.it_interval.tv_nsec);
  timer_delete(timer);
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = (int)syscall(SYS_gettid);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &every, NULL);
  printf("to a thread: %d\n", sigwaitinfo(&blocked, &info) == SIGRTMIN + 1);
  timer_delete(timer);
}

static sem_t notified;
static void on_expiry(union sigval value) {
  if (value.sival_int == 4) sem_post(&notified);
}
static void test_thread_timer(void) {
  sem_init(&notified, 0, 0);
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 4};
  event.sigev_notify_function = on_expiry;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  const struct itimerspec every = {{0, 1000000}, {0, 1000000}};
  timer_settime(timer, 0, &every, NULL);
  sem_wait(&notified);
  sem_wait(&notified);
  timer_delete(timer);
  printf("timer with a thread\n");
}

/// CPU-time timers stand still while nobody computes.
static void test_cpu_timers(void) {
  act(SIGVTALRM, note, 0, 0), act(SIGPROF, note, 0, 0);
  const int which[] = {ITIMER_VIRTUAL, ITIMER_PROF};
  for (int i = 0; i < 2; ++i) {
    const struct itimerval once = {{0, 0}, {0, 20000}};
    struct itimerval left;
    count = 0;
    setitimer(which[i], &once, NULL);
    usleep(60000);
    getitimer(which[i], &left);
    printf("asleep: %d, left %d\n", (int)count, left.it_value.tv_usec > 0);
    while (count == 0) {
    }
    getitimer(which[i], &left);
    printf("computed: %d, signal %d, left %ld\n", (int)count, last.si_signo, (long)left.it_value.tv_usec);
  }
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  test_flags();
  test_stacks();
  test_siginfo();
  test_children();
  test_atomic_masks();
  test_restarts(0);
  test_restarts(SA_RESTART);
  test_overrun();
  test_thread_timer();
  test_cpu_timers();
  return 0;
}
