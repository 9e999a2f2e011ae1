// SPDX-License-Identifier: Apache-2.0
// What /proc says about the process itself.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static long slurp(const char* path, char* to, long room) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  long total = 0;
  for (ssize_t got; (got = read(file, to + total, (size_t)(room - total - 1))) > 0;) total += got;
  to[total] = 0;
  close(file);
  return total;
}

int main(int argc, char** argv) {
  static char text[1 << 20];
  char link[PATH_MAX], real[PATH_MAX], path[64];
  (void)argc;
  const ssize_t size = readlink("/proc/self/exe", link, sizeof link - 1);
  link[size > 0 ? size : 0] = 0;
  printf("exe: %d\n", realpath(argv[0], real) != NULL && strcmp(real, link) == 0);
  snprintf(path, sizeof path, "/proc/%d/exe", getpid());
  printf("by number: %d\n",
         readlink(path, real, sizeof real) == size && memcmp(real, link, (size_t)size) == 0);
  snprintf(text, sizeof text, "%d", getpid());
  const ssize_t digits = readlink("/proc/self", path, sizeof path);
  printf("self: %d\n", digits == (ssize_t)strlen(text) && memcmp(path, text, (size_t)digits) == 0);
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d", getpid());
  printf("folder: %d\n", lstat(path, &status) == 0 && S_ISDIR(status.st_mode));
  printf("entered: %d\n", chdir(path) == 0 && access("status", R_OK) == 0 && chdir("/") == 0);
  printf("link: %d\n", lstat("/proc/self/exe", &status) == 0 && S_ISLNK(status.st_mode));
  printf("behind it: %d\n", stat("/proc/self/exe", &status) == 0 && S_ISREG(status.st_mode));
  printf("canonical: %d\n", realpath("/proc/self/exe", real) != NULL && strcmp(real, link) == 0);
  printf("not deleted: %d", unlink("/proc/self/exe"));
  printf(" %d\n", errno);
  printf("of the thread: %d\n",
         realpath("/proc/thread-self/exe", real) != NULL && strcmp(real, link) == 0);
  slurp("/proc/self/cmdline", text, sizeof text);
  printf("cmdline: %d\n", strcmp(text, argv[0]) == 0);
  const long all = slurp("/proc/self/environ", text, sizeof text);
  long shown = 0;
  int same = 1;
  for (char** entry = environ; *entry != NULL; shown += (long)strlen(*entry++) + 1)
    same = same && shown < all && strcmp(text + shown, *entry) == 0;
  printf("environ: %d\n", same && shown == all);
  slurp("/proc/self/maps", text, sizeof text);
  int code = 0, stack = 0;
  for (char* line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    unsigned long begin, end;
    char permissions[8];
    sscanf(line, "%lx-%lx %7s", &begin, &end, permissions);
    if ((unsigned long)main >= begin && (unsigned long)main < end)
      code = permissions[2] == 'x' && strstr(line, link) != NULL;
    if ((unsigned long)link >= begin && (unsigned long)link < end) stack = strstr(line, "[stack]") != NULL;
  }
  printf("maps: code %d, stack %d\n", code, stack);
  slurp("/proc/cpuinfo", text, sizeof text);
  int processors = 0;
  for (char* at = text; (at = strstr(at, "processor\t:")) != NULL; ++at) ++processors;
  printf("cpuinfo: %d\n", processors == sysconf(_SC_NPROCESSORS_ONLN));
  slurp("/proc/self/stat", text, sizeof text);
  printf("stat: %d\n", atoi(text) == getpid());
  slurp("/proc/self/status", text, sizeof text);
  printf("status: %d\n", strstr(text, "Threads:\t1\n") != NULL);
  slurp("/proc/self/comm", text, sizeof text);
  printf("comm: %s", text);
  printf("page size %lu, platform %s\n", getauxval(AT_PAGESZ), (char*)getauxval(AT_PLATFORM));
  printf("first free descriptor %d\n", open("/dev/null", O_RDONLY));
  return 0;
}
