// SPDX-License-Identifier: Apache-2.0
// waitid and wait4 where some children share their parent's memory and run on beside it.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARED (CLONE_VM | CLONE_FS | CLONE_FILES)

static char stack[64 * 1024] __attribute__((aligned(16)));
static int pipe_ends[2];
static int error_inside;

/// Ends with the byte that it reads.
static int ends_when_told(void* unused) {
  (void)unused;
  char byte = 0;
  return read(pipe_ends[0], &byte, 1) == 1 ? byte : 99;
}

static int waits_itself(void* unused) {
  (void)unused;
  siginfo_t info;
  const int result = waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
  error_inside = result == -1 ? errno : -result;
  return 0;
}

static int start(int (*what)(void*), int exit_signal) {
  return clone(what, stack + sizeof stack, SHARED | exit_signal, NULL);
}

static void tell(char code) {
  if (write(pipe_ends[1], &code, 1) != 1) perror("write");
}

static void show(const char* name, idtype_t type, int id, int options, int pid) {
  siginfo_t info;
  memset(&info, 0xff, sizeof info);
  const int result = waitid(type, (id_t)id, &info, options);
  if (result == -1) {
    printf("%s: %s\n", name, strerror(errno));
  } else if (info.si_pid == 0) {
    printf("%s: none, signal %d\n", name, info.si_signo);
  } else {
    printf("%s: it %d, signal %d, code %d, status %d, user %d\n", name, info.si_pid == pid, info.si_signo,
           info.si_code, info.si_status, info.si_uid == getuid());
  }
}

static void by_number(void) {
  const int pid = start(ends_when_told, SIGCHLD);
  show("lives", P_PID, pid, WEXITED | WNOHANG, pid);
  show("lives, any", P_ALL, 0, WEXITED | WNOHANG, pid);
  tell(5);
  show("looked at", P_PID, pid, WEXITED | WNOWAIT, pid);
  show("not stopped", P_ALL, 0, WSTOPPED | WNOHANG, pid);
  show("ended", P_PID, pid, WEXITED, pid);
  show("gone", P_PID, pid, WEXITED, pid);
}

static void any(void) {
  int pid = start(ends_when_told, SIGCHLD);
  tell(6);
  show("any", P_ALL, 0, WEXITED, pid);
  pid = start(ends_when_told, SIGCHLD);
  tell(7);
  show("of the group", P_PGID, getpgrp(), WEXITED, pid);
  pid = start(ends_when_told, SIGCHLD);
  tell(8);
  int status = 0;
  const int ended = waitpid(0, &status, 0);
  printf("wait4, own group: %d, %d\n", ended == pid, WEXITSTATUS(status));
  pid = start(ends_when_told, SIGCHLD);
  show("another group", P_PGID, getpgrp() + 1, WEXITED | WNOHANG, pid);
  tell(9);
  show("no kind", P_ALL, 0, WNOHANG, pid);
  show("no process", P_PID, 0, WEXITED | WNOHANG, pid);
  show("at last", P_ALL, 0, WEXITED, pid);
  show("none left", P_ALL, 0, WEXITED, pid);
}

/// A child without SIGCHLD is there only for who asks for such.
static void without_signal(void) {
  int pid = start(ends_when_told, 0);
  tell(10);
  show("plain", P_ALL, 0, WEXITED, pid);
  show("all kinds", P_ALL, 0, WEXITED | __WALL, pid);
  pid = start(ends_when_told, 0);
  tell(11);
  show("clones", P_PID, pid, WEXITED | __WCLONE, pid);
}

/// Both kinds of children at once: each is told once.
static void both_kinds(void) {
  siginfo_t info;
  const int forked = fork();
  if (forked == 0) _exit(12);
  waitid(P_PID, (id_t)forked, &info, WEXITED | WNOWAIT);
  int pid = start(waits_itself, SIGCHLD);
  waitid(P_PID, (id_t)pid, &info, WEXITED);
  printf("a child has none: %s\n", strerror(error_inside));
  pid = start(ends_when_told, SIGCHLD);
  tell(13);
  int sum = 0;
  for (int i = 0; i < 2; ++i) {
    waitid(P_ALL, 0, &info, WEXITED);
    sum += (info.si_pid == forked) + 2 * (info.si_pid == pid) + 100 * info.si_status;
  }
  printf("both: %d\n", sum);
}

static atomic_int waits;
static void* wait_for_any(void* use_wait4) {
  siginfo_t info;
  waits = 1;
  if (use_wait4 != NULL) {
    int status = 0;
    wait(&status);
    return (void*)(long)WEXITSTATUS(status);
  }
  waitid(P_ALL, 0, &info, WEXITED);
  return (void*)(long)info.si_status;
}

/// The child begins, and ends, while another thread waits for any.
static void begun_meanwhile(void* use_wait4) {
  int other_end[2];
  if (pipe(other_end) != 0) return;
  const int forked = fork();
  if (forked == 0) {
    char byte;
    close(other_end[1]);
    _exit(read(other_end[0], &byte, 1) == 0 ? 14 : 98);
  }
  pthread_t thread;
  void* status;
  waits = 0;
  pthread_create(&thread, NULL, wait_for_any, use_wait4);
  while (!waits) sched_yield();
  for (int i = 0; i < 1000; ++i) sched_yield(); /* most often it waits by then */
  start(ends_when_told, SIGCHLD);
  tell(15);
  pthread_join(thread, &status);
  printf("begun meanwhile: %ld\n", (long)status);
  close(other_end[1]);
  close(other_end[0]);
  int code = 0;
  waitpid(forked, &code, 0);
  printf("and the other: %d\n", WEXITSTATUS(code));
}

int main(void) {
  if (pipe(pipe_ends) != 0) return 1;
  by_number();
  any();
  without_signal();
  both_kinds();
  begun_meanwhile(NULL);
  begun_meanwhile(&waits);
  return 0;
}
