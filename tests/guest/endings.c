// SPDX-License-Identifier: Apache-2.0
// Ends in the way its argument names; the parent sees the same status as natively.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void at_exit(void) { puts("exit handler"); }
static void* call_exit(void* unused) {
  exit(12);
  return unused;
}
static void* outlive(void* unused) {
  usleep(10000);
  puts("the last thread ends");
  return unused;
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "return";
  const struct rlimit none = {0, 0};
  pthread_t thread;
  setrlimit(RLIMIT_CORE, &none);
  atexit(at_exit);
  printf("ends by %s\n", way);
  fflush(stdout);
  if (strcmp(way, "exit") == 0) exit(300);
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "segv") == 0) *(volatile int*)0 = 1;
  if (strcmp(way, "blocked_segv") == 0) {
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    *(volatile int*)0 = 1;
  }
  if (strcmp(way, "term") == 0) raise(SIGTERM);
  if (strcmp(way, "quit") == 0) raise(SIGQUIT);
  if (strcmp(way, "sys") == 0) raise(SIGSYS);
  if (strcmp(way, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(way, "pipe") == 0) {
    int ends[2];
    (void)!pipe(ends);
    close(ends[0]);
    (void)!write(ends[1], "x", 1);
  }
  if (strcmp(way, "divide") == 0) __asm__ volatile("xor %%ecx, %%ecx; div %%ecx" ::: "eax", "ecx", "edx");
  if (strcmp(way, "thread") == 0) {
    pthread_create(&thread, NULL, call_exit, NULL);
    pause();
  }
  if (strcmp(way, "leader") == 0) {
    pthread_create(&thread, NULL, outlive, NULL);
    pthread_exit(NULL);
  }
  return 5;
}
