// SPDX-License-Identifier: Apache-2.0
// A signal that arrives while a program replaces itself by execve is not lost.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// The child must not end before the signal comes, so there are far more execs than it gets to; one lost
// signal in the virtual machine is still told within the time limit.
enum { kRounds = 12, kExecs = 2000 };

static int replace_myself(char* self, int left) {
  if (left == kExecs && write(1, "x", 1) != 1) return 3;
  if (left == 0) return 0;
  char number[16];
  snprintf(number, sizeof number, "%d", left - 1);
  char* arguments[] = {self, number, NULL};
  execv("/proc/self/exe", arguments);
  return 4;
}

int main(int argc, char** argv) {
  if (argc > 1) return replace_myself(argv[0], atoi(argv[1]));
  int lost = 0;
  for (int round = 0; round < kRounds; ++round) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], 1);
      return replace_myself(argv[0], kExecs);
    }
    close(ends[1]);
    char byte;
    if (read(ends[0], &byte, 1) != 1) return 2;
    kill(child, SIGTERM);
    int status;
    waitpid(child, &status, 0);
    lost += !WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM;
    close(ends[0]);
  }
  printf("lost %d of %d\n", lost, kRounds);
  return lost != 0;
}
