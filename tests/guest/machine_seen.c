// SPDX-License-Identifier: Apache-2.0
// Whatever a program asks for the machine, it hears of the same one: CPUs, cores and sockets by affinity
// masks, sysconf, CPUID, getcpu, /proc and /sys. Prints what disagrees; for the virtual machine alone.
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int failures;

static void same(const char* what, long one, long other) {
  if (one == other) return;
  printf("%s: %ld and %ld\n", what, one, other);
  ++failures;
}

static char text[1 << 20];

static const char* slurp(const char* path) {
  const int file = open(path, O_RDONLY);
  long total = 0;
  text[0] = 0;
  if (file < 0) {
    printf("%s: cannot be opened\n", path);
    ++failures;
    return text;
  }
  for (ssize_t got; (got = read(file, text + total, sizeof text - 1 - (size_t)total)) > 0;) total += got;
  text[total] = 0;
  close(file);
  return text;
}

/// How many numbers "0-3,8" holds.
static int count_list(const char* list) {
  int count = 0;
  while (*list >= '0' && *list <= '9') {
    char* end;
    const long first = strtol(list, &end, 10);
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    count += (int)(last - first + 1);
    list = *end == ',' ? end + 1 : end;
  }
  return count;
}

static int in_list(const char* list, long wanted) {
  while (*list >= '0' && *list <= '9') {
    char* end;
    const long first = strtol(list, &end, 10);
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    if (wanted >= first && wanted <= last) return 1;
    list = *end == ',' ? end + 1 : end;
  }
  return 0;
}

static int count_lines(const char* path, const char* start) {
  int count = 0;
  for (char* line = strtok((char*)slurp(path), "\n"); line != NULL; line = strtok(NULL, "\n"))
    count += strncmp(line, start, strlen(start)) == 0 && (strcmp(start, "cpu") != 0 || line[3] != ' ');
  return count;
}

/// Field `name` of processor `cpu` in /proc/cpuinfo.
static long cpu_field(int cpu, const char* name) {
  char mark[32];
  snprintf(mark, sizeof mark, "processor\t: %d\n", cpu);
  const char* at = strstr(slurp("/proc/cpuinfo"), mark);
  const char* const field = at != NULL ? strstr(at, name) : NULL;
  return field != NULL ? atol(strchr(field, ':') + 1) : -1;
}

static long number_in(const char* pattern, int cpu) {
  char path[128];
  snprintf(path, sizeof path, pattern, cpu);
  return atol(slurp(path));
}

static void check_cpu(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  same("may run on each", sched_setaffinity(0, sizeof one, &one), 0);
  unsigned now = 99, node = 99;
  syscall(SYS_getcpu, &now, &node, NULL);
  same("getcpu", now, cpu);
  same("sched_getcpu", sched_getcpu(), cpu);
  const long socket = cpu_field(cpu, "physical id");
  same("socket, getcpu", node, socket);
  same("socket, sysfs", number_in("/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu), socket);
  same("core, sysfs", number_in("/sys/devices/system/cpu/cpu%d/topology/core_id", cpu),
       cpu_field(cpu, "core id"));
  char path[128];
  snprintf(path, sizeof path, "/sys/devices/system/node/node%ld/cpulist", socket);
  same("CPU in its node", in_list(slurp(path), cpu), 1);
  const int in_node = count_list(text);
  same("siblings in the node", in_node, cpu_field(cpu, "siblings"));
  unsigned a, b, c, d;
  __cpuid_count(0xb, 1, a, b, c, d);
  const unsigned of_package = a & 31, apic = d;
  same("APIC number", apic, cpu_field(cpu, "apicid"));
  same("socket, CPUID", apic >> of_package, socket);
  same("siblings, CPUID", b & 0xffff, cpu_field(cpu, "siblings"));
  __cpuid_count(0xb, 0, a, b, c, d);
  const unsigned of_core = a & 31;
  same("core, CPUID", (apic >> of_core) & ((1u << (of_package - of_core)) - 1), cpu_field(cpu, "core id"));
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  slurp(path);
  same("threads of the core", count_list(text), b & 0xffff);
  same("a CPU is its own sibling", in_list(text, cpu), 1);
  __cpuid(1, a, b, c, d);
  same("APIC number, leaf 1", b >> 24, apic & 0xff);
  __cpuid_count(4, 3, a, b, c, d);
  same("L3's sharers", ((a >> 14) & 0xfff) + 1, 1u << of_package);
  same("L3", (long)((b >> 22) + 1) * ((b & 0xfff) + 1) * (c + 1) / 1024, cpu_field(cpu, "cache size"));
}

static void check_leaves(void) {
  unsigned a, b, c, d;
  __cpuid(0, a, b, c, d);
  same("cpuid level", a, cpu_field(0, "cpuid level"));
  __cpuid(1, a, b, c, d);
  same("model", (a >> 4 & 15) | (a >> 12 & 0xf0), cpu_field(0, "model\t"));
  same("family", a >> 8 & 15, cpu_field(0, "cpu family"));
  same("stepping", a & 15, cpu_field(0, "stepping"));
  char brand[49] = "", line[80];
  for (unsigned i = 0; i < 3; ++i)
    __cpuid(0x80000002 + i, ((unsigned*)brand)[4 * i], ((unsigned*)brand)[4 * i + 1],
            ((unsigned*)brand)[4 * i + 2], ((unsigned*)brand)[4 * i + 3]);
  snprintf(line, sizeof line, "model name\t: %s\n", brand);
  same("brand", strstr(slurp("/proc/cpuinfo"), line) != NULL, 1);
  for (unsigned leaf = 0x15; leaf < 0x40; ++leaf) {
    __cpuid(leaf, a, b, c, d);
    same("leaf beyond the last", a | b | c | d, 0);
  }
}

int main(void) {
  cpu_set_t all;
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof all, &all);
  const int cpus = CPU_COUNT(&all);
  same("online", sysconf(_SC_NPROCESSORS_ONLN), cpus);
  same("configured", sysconf(_SC_NPROCESSORS_CONF), cpus);
  same("get_nprocs", get_nprocs(), cpus);
  same("/proc/cpuinfo", count_lines("/proc/cpuinfo", "processor"), cpus);
  same("/proc/stat", count_lines("/proc/stat", "cpu"), cpus);
  same("cpu/online", count_list(slurp("/sys/devices/system/cpu/online")), cpus);
  same("cpu/possible", count_list(slurp("/sys/devices/system/cpu/possible")), cpus);
  same("cpu/present", count_list(slurp("/sys/devices/system/cpu/present")), cpus);
  const char* const allowed = strstr(slurp("/proc/self/status"), "Cpus_allowed_list:\t");
  same("Cpus_allowed_list", allowed != NULL ? count_list(allowed + 19) : -1, cpus);
  for (int cpu = 0; cpu < cpus; ++cpu) check_cpu(cpu);
  sched_setaffinity(0, sizeof all, &all);
  check_leaves();

  struct sysinfo memory;
  sysinfo(&memory);
  const char* const total = strstr(slurp("/proc/meminfo"), "MemTotal:");
  same("memory", (long)(memory.totalram * memory.mem_unit / 1024), total != NULL ? atol(total + 9) : -1);
  same("pages", sysconf(_SC_PHYS_PAGES), (long)(memory.totalram / 4096));
  const char* const load = slurp("/proc/loadavg");
  same("load", load[0] >= '0' && load[0] <= '9', 1);
  struct timespec up;
  clock_gettime(CLOCK_BOOTTIME, &up);
  same("uptime", atol(slurp("/proc/uptime")), up.tv_sec);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  const char* const files = strstr(slurp("/proc/self/limits"), "Max open files");
  same("limit of files", files != NULL ? atol(files + 14) : -1, (long)limit.rlim_cur);
  struct timex state = {.modes = 0};
  same("clock state", adjtimex(&state) >= 0, 1);
  same("clock", state.time.tv_sec - time(NULL) <= 1 && time(NULL) - state.time.tv_sec <= 1, 1);
  state.modes = ADJ_TICK;
  const int refused = adjtimex(&state);
  same("clock is not ours", refused == -1 && errno == EPERM, 1);
  struct utsname name;
  same("uname", uname(&name), 0);
  same("machine", strcmp(name.machine, "x86_64"), 0);
  printf("%d disagreements\n", failures);
  return failures != 0;
}
