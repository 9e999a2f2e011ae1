// SPDX-License-Identifier: Apache-2.0
// A process that shares its parent's memory and traces its threads, as LeakSanitizer's does.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MARK 0x5eed0fee15600dl
#define VECTOR_MARK 0x77aa55ll

static sem_t ready, done;
static atomic_int waiter, runner, go_on, tracer_done;
static atomic_long turns;
static int pipe_ends[2];
static int parent_of_tracer, pid_of_tracer, errors[5], traced, saw_general, saw_vector, ran_while_held, code_of_tracer = 9;
static char stack[64 * 1024] __attribute__((aligned(16)));

static void on_signal(int number) { (void)number; }

static void *wait_for_end(void *argument) {
  waiter = (int)syscall(SYS_gettid);
  sem_post(&ready);
  while (sem_wait(&done) != 0) {
  }
  return argument;
}

/// Runs with one mark in a general register, another in a vector register.
static void *run_on(void *argument) {
  runner = (int)syscall(SYS_gettid);
  sem_post(&ready);
  register long mark __asm__("r12") = MARK;
  const long long vector = VECTOR_MARK;
  while (!go_on) {
    __asm__ volatile("movq %1, %%xmm9" : "+r"(mark) : "r"(vector) : "xmm9");
    ++turns;
  }
  return argument;
}

static long trace(int request, int tid, long address, void *data) {
  return syscall(SYS_ptrace, request, tid, address, data);
}

static int failed(long result) { return result == -1 ? errno : 0; }

static void attach(int tid) {
  int status = 0;
  if (trace(PTRACE_ATTACH, tid, 0, NULL) != 0) return;
  if (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP) ++traced;
}

static void look(void) {
  struct user_regs_struct registers = {0};
  struct iovec general = {&registers, sizeof registers};
  trace(PTRACE_GETREGSET, runner, NT_PRSTATUS, &general);
  saw_general = general.iov_len == sizeof registers && registers.r12 == MARK;
  struct user_fpregs_struct vectors = {0};
  trace(PTRACE_GETFPREGS, runner, 0, &vectors);
  saw_vector = vectors.xmm_space[4 * 9] == VECTOR_MARK;
  const long before = turns;
  for (int i = 0; i < 1000; ++i) sched_yield();
  ran_while_held = turns != before;
}

static int tracer(void *argument) {
  int *const tids = argument;
  char byte;
  if (read(pipe_ends[0], &byte, 1) != 1) return 1;
  errors[4] = failed(waitpid(-1, NULL, __WALL | WNOHANG)); /* its parent's child is not its own */
  parent_of_tracer = getppid();
  pid_of_tracer = getpid();
  errors[0] = failed(trace(PTRACE_GETREGS, tids[0], 0, &errors));
  signal(SIGSEGV, on_signal);
  for (int i = 0; i < 3; ++i) attach(tids[i] == 0 ? parent_of_tracer : tids[i]);
  errors[1] = failed(trace(PTRACE_ATTACH, tids[0], 0, NULL));
  errors[2] = failed(trace(PTRACE_ATTACH, 999999, 0, NULL));
  look();
  for (int i = 0; i < 3; ++i) trace(PTRACE_DETACH, tids[i] == 0 ? parent_of_tracer : tids[i], 0, NULL);
  errors[3] = failed(trace(PTRACE_DETACH, tids[0], 0, NULL));
  tracer_done = 1;
  return code_of_tracer;
}

static int ends_with_five(void *unused) {
  (void)unused;
  return 5;
}

/// The signal that a process asks for at the end of one that shares its memory.
static void exit_signal(void) {
  sigset_t set, before;
  siginfo_t info = {0};
  int status = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, &before);
  const int pid = clone(ends_with_five, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
  const struct timespec limit = {20, 0};
  const int number = sigtimedwait(&set, &info, &limit);
  printf("signal %d, code %d, of it %d, status %d\n", number == SIGCHLD, info.si_code, info.si_pid == pid, info.si_status);
  const int ended = waitpid(-1, &status, 0);
  printf("ended %d with %d\n", ended == pid, WEXITSTATUS(status));
  sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(void) {
  exit_signal();
  pthread_t threads[2];
  sem_init(&ready, 0, 0);
  sem_init(&done, 0, 0);
  pthread_create(&threads[0], NULL, wait_for_end, NULL);
  pthread_create(&threads[1], NULL, run_on, NULL);
  sem_wait(&ready);
  sem_wait(&ready);
  prctl(PR_SET_DUMPABLE, 1);
  if (pipe(pipe_ends) != 0) return 1;
  const int child = fork();
  if (child == 0) _exit(7);
  siginfo_t ended_child;
  waitid(P_PID, (id_t)child, &ended_child, WEXITED | WNOWAIT);
  int tids[3] = {waiter, runner, 0};
  const int pid = clone(tracer, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, tids);
  prctl(PR_SET_PTRACER, pid, 0, 0, 0);
  for (int i = 0; i < 1000; ++i) sched_yield(); /* most often it waits by then */
  if (write(pipe_ends[1], "", 1) != 1) return 1;
  while (!tracer_done) sched_yield();
  int status = 0;
  const int without_wall = waitpid(pid, &status, 0);
  printf("plain wait: %d, %s\n", without_wall, strerror(errno));
  const int any = waitpid(-1, &status, 0);
  printf("any child: %d, ended with %d\n", any == child, WEXITSTATUS(status));
  const int ended = waitpid(pid, &status, __WALL);
  printf("tracer: a process of its own %d, ended %d with %d, parent %d\n", pid_of_tracer == pid && pid != getpid(),
         ended == pid, WEXITSTATUS(status), parent_of_tracer == getpid());
  printf("traced %d threads, general register %d, vector register %d, ran while held %d\n", traced, saw_general,
         saw_vector, ran_while_held);
  for (int i = 0; i < 5; ++i) printf("error %d: %s\n", i, strerror(errors[i]));
  struct sigaction action;
  sigaction(SIGSEGV, NULL, &action);
  printf("the parent's handler is its own: %d\n", action.sa_handler == SIG_DFL);
  printf("gone: %d, %s\n", waitpid(pid, &status, __WALL), strerror(errno));
  const long before = turns;
  while (turns == before) sched_yield();
  go_on = 1;
  sem_post(&done);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  puts("all threads went on");
  return 0;
}
