// SPDX-License-Identifier: Apache-2.0
// Files under /dev/shm that hold the process number: usable by all calls, here and in a child. With an argument, keeps one
// while it reads standard input, and fails if another process of the same number has made it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int hold(void) {
  char name[64];
  snprintf(name, sizeof name, "/elision-test-held-%d", getpid());
  if (shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600) < 0) return perror(name), 1;
  puts("held");
  fflush(stdout);
  while (getchar() != EOF) continue;
  return shm_unlink(name) != 0;
}

static void show(const char* what, long result) {
  printf("%s: %ld%s\n", what, result, result < 0 && errno == EEXIST ? ", exists" : "");
  errno = 0;
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) return hold();
  const int parent = getpid();
  char name[64], longer[64], path[96], other[96];
  snprintf(name, sizeof name, "/elision-test-%d_%d", parent, parent);
  snprintf(longer, sizeof longer, "/elision-test-%d7", parent);  // another number, of which this one is a part
  snprintf(path, sizeof path, "/dev/shm%s", name);
  snprintf(other, sizeof other, "/dev/shm/elision-test-other-%d", parent);
  const int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  show("open", file >= 0);
  show("open again", shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
  show("open the longer name", shm_open(longer, O_RDWR | O_CREAT | O_EXCL, 0600) >= 0);
  show("unlink it", shm_unlink(longer));
  show("truncate", truncate(path, 8));
  show("chmod", chmod(path, 0640));
  struct stat status;
  show("stat", stat(path, &status));
  show("size", status.st_size);
  show("mode", status.st_mode & 0777);
  const pid_t child = fork();
  if (child == 0) _exit(write(open(path, O_WRONLY), "child", 5) == 5 ? 0 : 1);
  int ended = -1;
  waitpid(child, &ended, 0);
  show("child", ended);
  char text[6] = "";
  show("read", read(file, text, 5));
  puts(text);
  show("rename", rename(path, other));
  show("old name", access(path, F_OK));
  show("new name", access(other, F_OK));
  show("link", link(other, path));
  show("unlink", unlink(path));
  show("unlinkat", unlinkat(AT_FDCWD, other, 0));
  show("name after it", access(other, F_OK));
}
