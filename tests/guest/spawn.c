// SPDX-License-Identifier: Apache-2.0
// posix_spawn and vfork: success, failure reported to the parent, descriptors, attributes, many at once.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int status_of(pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void* spawner(void* unused) {
  long good = 0;
  char* arguments[] = {"sh", "-c", "exit 3", NULL};
  for (int i = 0; i < 3; ++i) {
    pid_t pid;
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) == 0) good += status_of(pid) == 3;
  }
  return (void*)(good + (long)unused);
}

int main(void) {
  pid_t pid;
  char* shell[] = {"sh", "-c", "echo from the shell $0 $1; exit 5", "zero", "one", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 7, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  signal(SIGUSR1, SIG_IGN);
  int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, shell, environ);
  printf("spawn: %d, exit code %d\n", error, status_of(pid));
  printf("descriptor 7 stayed closed here: %d\n", fcntl(7, F_GETFD) == -1 && errno == EBADF);
  error = posix_spawn(&pid, "/nonexistent/program", NULL, NULL, shell, environ);
  printf("missing program: %s\n", strerror(error));
  error = posix_spawn(&pid, "/etc/passwd", NULL, NULL, shell, environ);
  printf("not executable: %s\n", strerror(error));

  volatile int shared = 1;
  pid = vfork();
  if (pid == 0) {
    shared = 2;
    execl("/nonexistent/program", "program", NULL);
    _exit(errno == ENOENT ? 44 : 45);
  }
  printf("vfork: exit code %d, memory shared %d\n", status_of(pid), shared);
  struct sigaction kept;
  sigaction(SIGUSR1, NULL, &kept);
  printf("own signal action kept: %d\n", kept.sa_handler == SIG_IGN);
  printf("system: %d\n", WEXITSTATUS(system("exit 6")));
  fflush(stdout);
  FILE* stream = popen("cat", "w");
  fputs("through popen\n", stream);
  printf("popen: %d\n", pclose(stream));

  pthread_t threads[3];
  long good = 0;
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, spawner, NULL);
  for (int i = 0; i < 3; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    good += (long)result;
  }
  printf("spawned from threads: %ld\n", good);
  return 0;
}
