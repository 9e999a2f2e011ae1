// SPDX-License-Identifier: Apache-2.0
// Each thread has a name of its own, of at most 15 bytes, which its threads and children begin with.
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char* who) {
  char name[16] = "unchanged";
  const int result = prctl(PR_GET_NAME, name);
  printf("%s: %d '%s'\n", who, result, name);
  fflush(stdout);
}

static void* in_thread(void* unused) {
  show("thread begins");
  prctl(PR_SET_NAME, "a name that is too long");
  show("thread");
  return unused;
}

int main(void) {
  show("main begins");
  prctl(PR_SET_NAME, "first");
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  show("main");
  printf("bad pointers: %d %d\n", prctl(PR_SET_NAME, 16), prctl(PR_GET_NAME, 16));
  show("main");
  prctl(PR_SET_NAME, "");
  show("empty");
  fflush(stdout);
  prctl(PR_SET_NAME, "parent");
  const pid_t child = fork();
  if (child == 0) {
    show("child");
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return 0;
}
