// SPDX-License-Identifier: Apache-2.0
// fork, pipes, wait, exit codes, fatal signals, signals between parent and child.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int got_child, got_usr1;
static void on_child(int signal) { (void)signal, ++got_child; }
static void on_usr1(int signal) { (void)signal, ++got_usr1; }

static int status_of(pid_t pid) {
  int status = -1;
  return waitpid(pid, &status, 0) == pid ? status : -1;
}

static pid_t child(int (*work)(void)) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) _exit(work());
  return pid;
}

static int seven(void) { return 7; }
static int aborts(void) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  abort();
}
static int killed(void) { return raise(SIGKILL); }
static int is_alone(void) { return getpid() == getpid() && getppid() > 0 ? 3 : 4; }
static int waits_for_signal(void) {
  signal(SIGUSR1, on_usr1);
  kill(getppid(), SIGUSR1);
  while (!got_usr1) usleep(1000);
  return 9;
}

static void* thread_work(void* unused) { return unused; }
static int starts_thread(void) {
  pthread_t thread;
  void* result = NULL;
  pthread_create(&thread, NULL, thread_work, (void*)5);
  pthread_join(thread, &result);
  return (int)(long)result;
}

static void test_pipe(void) {
  int ends[2];
  (void)!pipe(ends);
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    char block[1000];
    close(ends[0]);
    memset(block, 'y', sizeof block);
    for (int i = 0; i < 300; ++i) (void)!write(ends[1], block, sizeof block);
    _exit(0);
  }
  close(ends[1]);
  char buffer[4096];
  long total = 0;
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) total += got;
  printf("through the pipe: %ld, status %d\n", total, status_of(pid));
}

static void test_shared_memory(void) {
  int* shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutex_t* mutex = (pthread_mutex_t*)(shared + 16);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(mutex, &attributes);
  fflush(stdout);
  const pid_t pid = fork();
  for (int i = 0; i < 2000; ++i) {
    pthread_mutex_lock(mutex);
    shared[0] = shared[0] + 1;
    pthread_mutex_unlock(mutex);
  }
  if (pid == 0) _exit(0);
  status_of(pid);
  printf("shared counter %d\n", shared[0]);
}

int main(void) {
  signal(SIGCHLD, on_child);
  signal(SIGUSR1, on_usr1);
  int status = status_of(child(seven));
  printf("exit code %d %d\n", WIFEXITED(status), WEXITSTATUS(status));
  status = status_of(child(aborts));
  printf("abort %d %d\n", WIFSIGNALED(status), WTERMSIG(status) == SIGABRT);
  status = status_of(child(killed));
  printf("kill %d %d\n", WIFSIGNALED(status), WTERMSIG(status) == SIGKILL);
  printf("alone %d, thread in child %d\n", WEXITSTATUS(status_of(child(is_alone))),
         WEXITSTATUS(status_of(child(starts_thread))));
  const pid_t pid = child(waits_for_signal);
  while (!got_usr1) usleep(1000);
  kill(pid, SIGUSR1);
  printf("signals both ways %d\n", WEXITSTATUS(status_of(pid)));
  printf("SIGCHLD seen %d, no more children %d\n", got_child > 0, wait(NULL) == -1 && errno == ECHILD);
  test_pipe();
  test_shared_memory();
  return 0;
}
