// SPDX-License-Identifier: Apache-2.0
// membarrier(2): what must be registered first, what is refused, and a child's registration.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char* what, int command, unsigned flags) {
  const long result = syscall(SYS_membarrier, command, flags, 0);
  printf("%s: %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "");
}

int main(void) {
  const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  printf("private expedited is offered: %d\n", (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0);
  show("not registered", MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
  show("register", MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0);
  show("registered", MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
  show("another kind", MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0);
  show("register for all", MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0);
  show("for all", MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
  show("with flags", MEMBARRIER_CMD_PRIVATE_EXPEDITED, 8);
  show("two at once", MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
  show("unknown", 1 << 20, 0);
  fflush(stdout);
  if (fork() == 0) {
    show("child", MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
    fflush(stdout);
    _exit(0);
  }
  wait(NULL);
  return 0;
}
