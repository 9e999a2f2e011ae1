// SPDX-License-Identifier: Apache-2.0
// clone and clone3 with CLONE_PIDFD: a descriptor of the child that tells its end, and what is refused.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DESCRIPTOR 0x1000 /* CLONE_PIDFD */

static char stack[64 * 1024] __attribute__((aligned(16)));
static int* shared; /* what a child found */
static volatile int seen_inside;

static struct clone_args arguments_with(uint64_t flags, int* descriptor) {
  struct clone_args arguments = {0};
  arguments.flags = flags;
  arguments.pidfd = (uint64_t)descriptor;
  arguments.exit_signal = SIGCHLD;
  return arguments;
}
static int clone3_with(struct clone_args* arguments) {
  return (int)syscall(SYS_clone3, arguments, sizeof *arguments);
}
static int clone_with(uint64_t flags, void* descriptor) {
  return (int)syscall(SYS_clone, flags | SIGCHLD, NULL, descriptor, NULL, 0);
}

static void show_end(const char* name, int child, int descriptor) {
  siginfo_t info = {0};
  struct pollfd readable = {descriptor, POLLIN, 0};
  printf("%s: closed by exec %d", name, fcntl(descriptor, F_GETFD) == FD_CLOEXEC);
  printf(", ends %d", poll(&readable, 1, 60000) == 1);
  const int result = waitid((idtype_t)3 /* P_PIDFD */, (id_t)descriptor, &info, WEXITED);
  printf(", waited for %d, it %d, status %d\n", result, info.si_pid == child, info.si_status);
  close(descriptor);
}

/// The child has no copy.
_Noreturn static void child(int descriptor, int code) {
  shared[0] = fcntl(descriptor, F_GETFD) == -1 ? errno : 0;
  _exit(code);
}

static void forks(void) {
  int descriptor = -1;
  fflush(stdout);
  struct clone_args arguments = arguments_with(DESCRIPTOR, &descriptor);
  int pid = clone3_with(&arguments);
  if (pid == 0) child(3, 3);
  printf("lowest number %d\n", descriptor);
  show_end("clone3", pid, descriptor);
  printf("in the child: %s\n", strerror(shared[0]));
  fflush(stdout);
  pid = clone_with(DESCRIPTOR, &descriptor);
  if (pid == 0) child(3, 4);
  show_end("clone", pid, descriptor);
  fflush(stdout);
  pid = clone_with(DESCRIPTOR, &descriptor);
  if (pid == 0) pause();
  printf("signal: %ld\n", syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, NULL, 0));
  show_end("killed", pid, descriptor);
}

static void show_wait(const char* name, int descriptor, int options) {
  siginfo_t info;
  memset(&info, 0xff, sizeof info);
  const int result = waitid((idtype_t)3 /* P_PIDFD */, (id_t)descriptor, &info, options);
  printf("%s: %s, told %d %d %d\n", name, result == 0 ? "done" : strerror(errno), info.si_signo,
         info.si_status, info.si_pid != 0);
}

/// With O_NONBLOCK a wait for a child that runs on ends at once; whatever the error, what happened is
/// nothing.
static void does_not_wait(void) {
  int descriptor = -1;
  fflush(stdout);
  const int pid = clone_with(DESCRIPTOR, &descriptor);
  if (pid == 0) pause();
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  show_wait("not yet", descriptor, WEXITED);
  show_wait("asked not to wait", descriptor, WEXITED | WNOHANG);
  show_wait("for nothing", descriptor, 0);
  syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, NULL, 0);
  struct pollfd readable = {descriptor, POLLIN, 0};
  poll(&readable, 1, 60000);
  show_wait("ended", descriptor, WEXITED);
  show_wait("once only", descriptor, WEXITED);
  close(descriptor);
  show_wait("closed", descriptor, WEXITED);
}

static int ends_inside(void* descriptor) {
  seen_inside = *(volatile int*)descriptor;
  _exit(5);
}

/// The number is there before the child runs.
static void shares_memory(void) {
  int descriptor = -1;
  const int pid = clone(ends_inside, stack + sizeof stack, CLONE_VM | CLONE_VFORK | DESCRIPTOR | SIGCHLD,
                        &descriptor, &descriptor);
  printf("seen by the child %d\n", seen_inside == descriptor);
  show_end("vfork", pid, descriptor);
}

/// A child of a process that does not care vanishes at once.
static void ignored(void) {
  int descriptor = -1;
  signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < 20; ++i) {
    if (clone_with(DESCRIPTOR, &descriptor) == 0) _exit(0);
    struct pollfd readable = {descriptor, POLLIN, 0};
    if (descriptor < 0 || poll(&readable, 1, 60000) != 1) printf("ignored: descriptor %d\n", descriptor);
    close(descriptor);
    descriptor = -1;
  }
  signal(SIGCHLD, SIG_DFL);
}

static void refusal(const char* name, int result) {
  const int error = errno;
  if (result == 0) _exit(9); /* a child that should not be */
  printf("%s: %s, child left %d\n", name, result < 0 ? strerror(error) : "done", waitpid(-1, NULL, 0) != -1);
}

static void refusals(void) {
  int number = -1;
  fflush(stdout);
  refusal("bad address", clone_with(DESCRIPTOR, (void*)8));
  struct clone_args arguments = arguments_with(DESCRIPTOR, (int*)8);
  refusal("bad address in clone3", clone3_with(&arguments));
  refusal("bad address, vfork", clone_with(DESCRIPTOR | CLONE_VFORK | CLONE_VM, (void*)8));
  refusal("two uses of one argument", clone_with(DESCRIPTOR | CLONE_PARENT_SETTID, &number));
  arguments = arguments_with(DESCRIPTOR | CLONE_PARENT_SETTID, &number);
  arguments.parent_tid = (uint64_t)&number;
  refusal("two uses of one address", clone3_with(&arguments));
  refusal("detached", clone_with(DESCRIPTOR | CLONE_DETACHED, &number));
  arguments = arguments_with(CLONE_DETACHED, NULL);
  refusal("detached in clone3", clone3_with(&arguments));
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  const struct rlimit none = {3, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  refusal("no descriptor left", clone_with(DESCRIPTOR, &number));
  setrlimit(RLIMIT_NOFILE, &limit);
  printf("number untouched: %d\n", number == -1);
}

/// However few descriptors are left: one that stands for the child, or none and no child.
static void few_left(void) {
  int last = 0, succeeded = 0;
  while (last >= 0) last = dup(1);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  for (int free_ones = 0; free_ones < 20; ++free_ones) {
    int number = -1;
    const int pid = clone_with(DESCRIPTOR, &number);
    const int error = errno;
    if (pid == 0) pause();
    if (pid > 0) {
      ++succeeded;
      if (syscall(SYS_pidfd_send_signal, number, SIGTERM, NULL, 0) != 0) printf("%d: no signal\n", free_ones);
      int status = 0;
      if (waitpid(pid, &status, 0) != pid || WTERMSIG(status) != SIGTERM)
        printf("%d: not killed\n", free_ones);
      close(number);
    } else if (error != EMFILE || number != -1 || waitpid(-1, NULL, 0) != -1) {
      printf("%d: %s, number %d\n", free_ones, strerror(error), number);
    }
    close((int)limit.rlim_cur - 1 - free_ones);
  }
  printf("some work %d, and some do not %d\n", succeeded > 0, succeeded < 20);
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) return few_left(), 0;
  for (int i = 3; i < 20; ++i) close(i);
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  forks();
  does_not_wait();
  shares_memory();
  ignored();
  refusals();
  return 0;
}
