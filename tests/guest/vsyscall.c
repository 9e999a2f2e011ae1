// SPDX-License-Identifier: Apache-2.0
// The vsyscall page: three addresses that can be called, and nothing else.
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static const uintptr_t kPage = 0xffffffffff600000;

static sigjmp_buf escape;
static int failures;

static void check(const char* what, int holds) {
  if (holds) return;
  printf("%s: no\n", what);
  failures++;
}

static void on_fault(int number) {
  (void)number;
  siglongjmp(escape, 1);
}

static int call_faults(uintptr_t address) {
  if (sigsetjmp(escape, 1) != 0) return 1;
  ((void (*)(void*, void*, void*))address)(NULL, NULL, NULL);
  return 0;
}

static int read_faults(uintptr_t address) {
  if (sigsetjmp(escape, 1) != 0) return 1;
  (void)*(volatile char*)address;
  return 0;
}

static int bad_pointer_faults(void) {
  if (sigsetjmp(escape, 1) != 0) return 1;
  ((int (*)(void*, void*))kPage)((void*)8, NULL);
  return 0;
}

static int is_mapped(void) {
  char line[512];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    found |= strncmp(line, "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0", 55) == 0 &&
             strstr(line, "[vsyscall]") != NULL;
  if (maps != NULL) fclose(maps);
  return found;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_fault};
  sigaction(SIGSEGV, &action, NULL);
  struct timeval day = {0, 0};
  check("gettimeofday", ((int (*)(struct timeval*, void*))kPage)(&day, NULL) == 0 && day.tv_sec != 0);
  time_t stored = 0;
  const time_t now = ((time_t(*)(time_t*))(kPage + 0x400))(&stored);
  check("time", now == stored && now - day.tv_sec <= 1);
  unsigned cpu = 9999, node = 9999;
  check("getcpu", ((int (*)(unsigned*, unsigned*, void*))(kPage + 0x800))(&cpu, &node, NULL) == 0 &&
                      cpu == (unsigned)sched_getcpu() && node != 9999);
  check("a byte further faults", call_faults(kPage + 1));
  check("the fourth address faults", call_faults(kPage + 0xc00));
  check("the next page faults", call_faults(kPage + 0x1000));
  check("the page in front faults", call_faults(kPage - 0x1000));
  check("reading faults", read_faults(kPage) && read_faults(kPage + 0x400));
  check("a bad pointer faults", bad_pointer_faults());
  check("/proc/self/maps shows it", is_mapped());
  if (failures == 0) puts("the vsyscall page is as it should be");
  return failures != 0;
}
