// SPDX-License-Identifier: Apache-2.0
// execve: argv[0], environment, close-on-exec, mask and ignored signals inherited, number kept, errors.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int second(int argc, char** argv, char** environment) {
  printf("argv[0] %s, %d arguments, last '%s'\n", argv[0], argc, argv[argc - 1]);
  int count = 0;
  while (environment[count] != NULL) ++count;
  printf("environment: %d entries, %s\n", count, environment[0]);
  printf("kept %d, closed %d\n", fcntl(20, F_GETFD) == 0, fcntl(21, F_GETFD) == -1);
  sigset_t mask;
  struct sigaction hup, usr1;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  sigaction(SIGHUP, NULL, &hup);
  sigaction(SIGUSR1, NULL, &usr1);
  printf("mask %d%d, ignored %d, handler gone %d\n", sigismember(&mask, SIGUSR2), sigismember(&mask, SIGTERM),
         hup.sa_handler == SIG_IGN, usr1.sa_handler == SIG_DFL);
  sigset_t pending;
  sigpending(&pending);
  printf("pending %d, same process %d\n", sigismember(&pending, SIGUSR2), atoi(argv[1]) == getpid());
  const int lowest = open("/dev/null", O_RDONLY);
  printf("lowest descriptor %d\n", lowest);
  return 17;
}

static void nothing(int signal) { (void)signal; }

static void fail_to_run(const char* what, const char* path) {
  char* const arguments[] = {"x", NULL};
  execv(path, arguments);
  printf("%s: %s\n", what, strerror(errno));
}

static void test_failures(void) {
  char folder[] = "/tmp/guestXXXXXX", path[64];
  (void)!mkdtemp(folder);
  fail_to_run("folder", folder);
  snprintf(path, sizeof path, "%s/text", folder);
  FILE* file = fopen(path, "w");
  fputs("just text\n", file);
  fclose(file);
  fail_to_run("not executable", path);
  chmod(path, 0755);
  fail_to_run("text", path);
  file = fopen(path, "w");
  fputs("#!/nonexistent/interpreter\n", file);
  fclose(file);
  fail_to_run("script without interpreter", path);
  fail_to_run("missing", "/nonexistent");
  unlink(path);
  mkfifo(path, 0755);
  fail_to_run("FIFO", path);
  unlink(path);
  rmdir(folder);
}

int main(int argc, char** argv, char** environment) {
  if (strcmp(argv[0], "new name") == 0) return second(argc, argv, environment);
  for (int i = 3; i < 20; ++i) close(i);
  test_failures();
  const int file = open("/dev/null", O_RDONLY);
  dup2(file, 20);
  dup3(file, 21, O_CLOEXEC);
  close(file);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  sigprocmask(SIG_BLOCK, &mask, NULL);
  signal(SIGHUP, SIG_IGN);
  signal(SIGUSR1, nothing);
  raise(SIGUSR2);
  char number[16];
  snprintf(number, sizeof number, "%d", getpid());
  char* arguments[] = {"new name", number, "", NULL};
  char* variables[] = {"ONLY=this", NULL};
  fflush(stdout);
  execve("/proc/self/exe", arguments, variables);
  perror("execve");
  return 1;
}
