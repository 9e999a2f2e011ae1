/* SPDX-License-Identifier: Apache-2.0
 * Resource limits that a program sets for itself: told as they were set, inherited over fork and execve, and
 * kept.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

static const char* program;

static void expect(const char* what, long found, long expected) {
  if (found != expected) printf("%s: %ld instead of %ld\n", what, found, expected);
}

static struct rlimit limit_of(int resource) {
  struct rlimit limit;
  expect("getrlimit", getrlimit(resource, &limit), 0);
  return limit;
}

static int set_soft(int resource, rlim_t soft) {
  const struct rlimit limit = {soft, limit_of(resource).rlim_max};
  return setrlimit(resource, &limit) == 0 ? 0 : errno;
}

static size_t mapped_bytes(void) {
  unsigned long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%lu", &pages) != 1) pages = 0;
  if (file != NULL) fclose(file);
  return pages * 4096;
}

/* 0, or why not. */
static int try_map(size_t size, int protection, int flags, void** at) {
  *at = mmap(NULL, size, protection, flags, -1, 0);
  return *at == MAP_FAILED ? errno : 0;
}

/* Runs `part` in a child; what it does to its limits is its own. */
static void in_child(const char* name, void (*part)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    part();
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  expect("waitpid", waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) printf("%s: signal %d\n", name, WTERMSIG(status));
  printf("%s: exit code %d\n", name, WEXITSTATUS(status));
}

static void run_self(const char* part) {
  fflush(stdout);
  execl(program, program, part, (char*)NULL);
  printf("exec %s: %s\n", part, strerror(errno));
}

/* Address space. */

static void address_space(void) {
  void *first, *second, *third;
  expect("limit", set_soft(RLIMIT_AS, mapped_bytes() + 128 * MB), 0);
  expect("first", try_map(80 * MB, PROT_READ | PROT_WRITE, PRIVATE, &first), 0);
  expect("second", try_map(80 * MB, PROT_NONE, PRIVATE, &second), ENOMEM);
  expect("shared", try_map(80 * MB, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, &second), ENOMEM);
  expect("over the first", mmap(first, 80 * MB, PROT_READ, PRIVATE | MAP_FIXED, -1, 0) == first, 1);
  expect("malloc", malloc(100 * MB) == NULL, 1);
  expect("errno", errno, ENOMEM);
  char* const end = sbrk(0);
  expect("brk", brk(end + 100 * MB) == -1 ? errno : 0, ENOMEM);
  expect("brk stays", sbrk(0) == end, 1);
  expect("mremap", mremap(first, 80 * MB, 160 * MB, MREMAP_MAYMOVE) == MAP_FAILED ? errno : 0, ENOMEM);
  const int segment = shmget(IPC_PRIVATE, 80 * MB, 0600);
  expect("shmat", shmat(segment, NULL, 0) == (void*)-1 ? errno : 0, ENOMEM);
  shmctl(segment, IPC_RMID, NULL);
  munmap(first, 80 * MB);
  expect("third", try_map(80 * MB, PROT_NONE, PRIVATE, &third), 0);
  expect("limit", set_soft(RLIMIT_AS, RLIM_INFINITY), 0);
  expect("second", try_map(80 * MB, PROT_NONE, PRIVATE, &second), 0);
}

static void* add_one(void* number) {
  ++*(int*)number;
  return NULL;
}

/* A program whose limit is far below what the machine that runs it may need. */
static void small_space_inside(void) {
  pthread_t threads[4];
  int numbers[4] = {0, 1, 2, 3};
  void* at;
  printf("inherited: %llu\n", (unsigned long long)limit_of(RLIMIT_AS).rlim_cur);
  for (int i = 0; i < 4; ++i) expect("thread", pthread_create(&threads[i], NULL, add_one, &numbers[i]), 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  expect("numbers", numbers[0] + numbers[1] + numbers[2] + numbers[3], 10);
  expect("80 MB", try_map(80 * MB, PROT_NONE, PRIVATE, &at), ENOMEM);
  char text[256];
  FILE* const file = fopen("/proc/self/limits", "r");
  while (file != NULL && fgets(text, sizeof text, file) != NULL)
    if (strncmp(text, "Max address space", 17) == 0 || strncmp(text, "Limit", 5) == 0) fputs(text, stdout);
  const pid_t child = fork();
  if (child == 0) _exit(try_map(80 * MB, PROT_NONE, PRIVATE, &at));
  int status = 0;
  expect("waitpid", waitpid(child, &status, 0), child);
  expect("in a child", WEXITSTATUS(status), ENOMEM);
}

static void small_space(void) {
  const struct rlimit limit = {64 * MB, 64 * MB};
  expect("setrlimit", setrlimit(RLIMIT_AS, &limit), 0);
  run_self("small_space_inside");
}

/* All that there is, whatever the limit; then a little less. */
static void all_space_inside(void) {
  enum { CHUNKS = 4096 };
  static void* chunks[CHUNKS];
  pthread_t thread;
  int number = 1, count = 0;
  while (count < CHUNKS && try_map(8 * MB, PROT_NONE, PRIVATE, &chunks[count]) == 0) ++count;
  for (int i = 0; i < 4 && count > 0; ++i) munmap(chunks[--count], 8 * MB);
  expect("thread", pthread_create(&thread, NULL, add_one, &number), 0);
  pthread_join(thread, NULL);
  printf("mapped all: %d\n", count > 0 && number == 2);
}

/* Data: private and writable. */
static void data(void) {
  void *at, *shared;
  expect("limit", set_soft(RLIMIT_DATA, 48 * MB), 0);
  expect("too much", try_map(64 * MB, PROT_READ | PROT_WRITE, PRIVATE, &at), ENOMEM);
  expect("shared", try_map(64 * MB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, &shared), 0);
  expect("not writable", try_map(64 * MB, PROT_READ, PRIVATE, &at), 0);
  expect("made writable", mprotect(at, 64 * MB, PROT_READ | PROT_WRITE) == 0 ? 0 : errno, ENOMEM);
  expect("a part", mprotect(at, 8 * MB, PROT_READ | PROT_WRITE), 0);
  expect("again", mprotect(at, 8 * MB, PROT_READ | PROT_WRITE), 0);
  char* const end = sbrk(0);
  expect("brk", brk(end + 64 * MB) == -1 ? errno : 0, ENOMEM);
}

/* Stack. */

static int __attribute__((noinline)) recurse(int depth) {
  volatile char room[4096];
  room[0] = (char)depth;
  return depth == 0 ? room[0] : recurse(depth - 1) + room[0] - (char)depth;
}

static void deep_inside(void) { expect("deep", recurse(3000), 0); } /* some 12 MB */

static void deeper_at_once(void) {
  expect("limit", set_soft(RLIMIT_STACK, 32 * MB), 0);
  deep_inside();
}

static void deeper_after_exec(void) {
  expect("limit", set_soft(RLIMIT_STACK, 32 * MB), 0);
  run_self("deep_inside");
}

static void less_at_once(void) {
  expect("limit", set_soft(RLIMIT_STACK, 1 * MB), 0);
  deep_inside();
}

static void less_after_exec(void) {
  expect("limit", set_soft(RLIMIT_STACK, 1 * MB), 0);
  run_self("deep_inside");
}

static void arguments(void) {
  static char text[100000];
  char* words[40];
  memset(text, 'x', sizeof text - 1);
  for (int i = 0; i < 39; ++i) words[i] = text;
  words[39] = NULL;
  expect("limit", set_soft(RLIMIT_STACK, 8 * MB), 0);
  execv("/bin/true", words); /* 3.9 MB, where 2 MB go */
  expect("too many arguments", errno, E2BIG);
}

/* Open files. */

static int count_opened(void) {
  int count = 0;
  while (open("/dev/null", O_RDONLY) >= 0) ++count;
  expect("open", errno, EMFILE);
  return count;
}

static void files_inside(void) {
  expect("inherited", (long)limit_of(RLIMIT_NOFILE).rlim_cur, 12);
  for (int i = 3; i < 12; ++i) close(i);
  expect("opened", count_opened(), 9);
  int ends[2];
  expect("pipe", pipe(ends) == -1 ? errno : 0, EMFILE);
  close(11);
  expect("pipe", pipe(ends) == -1 ? errno : 0, EMFILE);
  expect("dup", dup(0), 11);
  expect("fcntl", fcntl(0, F_DUPFD, 12) == -1 ? errno : 0, EINVAL);
  expect("more", set_soft(RLIMIT_NOFILE, 20), 0);
  expect("opened", count_opened(), 8);
}

static void files(void) {
  expect("limit", set_soft(RLIMIT_NOFILE, 12), 0);
  run_self("files_inside");
}

/* A file's size. */

static volatile sig_atomic_t too_large;
static void note_too_large(int signal) { too_large = signal; }

static void file_size_inside(void) {
  const int file = memfd_create("limited", 0);
  signal(SIGXFSZ, note_too_large);
  char page[4096] = {0};
  expect("inherited", (long)limit_of(RLIMIT_FSIZE).rlim_cur, 4096);
  expect("first page", write(file, page, sizeof page), 4096);
  expect("second", write(file, page, sizeof page) == -1 ? errno : 0, EFBIG);
  expect("signal", too_large, SIGXFSZ);
}

static void file_size(void) {
  expect("limit", set_soft(RLIMIT_FSIZE, 4096), 0);
  run_self("file_size_inside");
}

/* CPU time: a signal each second, then the end. */

static double cpu_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Long instructions: a second of virtual time is then not long for the machine that runs it. */
static void* divide(void* end) {
  while (cpu_time() < *(double*)end) {
    uint64_t number = ~(uint64_t)0;
    for (int i = 0; i < 100000; ++i) __asm__ volatile("xor %%edx, %%edx; divq %0" : "+a"(number) : : "rdx", "cc");
  }
  return NULL;
}

/* Natively ticks are counted: not quite what the clock says. */
static volatile double signalled_at;
static void note_cpu_limit(int signal) {
  (void)signal;
  signalled_at = cpu_time();
}

static void cpu_time_soft(void) {
  pthread_t thread;
  double end = 1.8;
  signal(SIGXCPU, note_cpu_limit);
  expect("limit", set_soft(RLIMIT_CPU, 1), 0);
  pthread_create(&thread, NULL, divide, &end);
  divide(&end);
  pthread_join(thread, NULL);
  printf("signal after a second of all threads: %d\n", signalled_at > 0.5 && signalled_at < 1.8);
}

static void cpu_time_hard(void) {
  const struct rlimit limit = {1, 1};
  double end = 60;
  signal(SIGXCPU, SIG_IGN);
  expect("limit", setrlimit(RLIMIT_CPU, &limit), 0);
  divide(&end);
  printf("outlived it\n");
}

/* Threads count as processes do, for who has no rights. */
static void processes(void) {
  pthread_t thread;
  int number = 0;
  if (geteuid() == 0 && setresuid(65533, 65533, 65533) != 0) return;
  expect("limit", set_soft(RLIMIT_NPROC, 1), 0);
  expect("a second thread", pthread_create(&thread, NULL, add_one, &number), EAGAIN);
  expect("no limit", set_soft(RLIMIT_NPROC, limit_of(RLIMIT_NPROC).rlim_max), 0);
  expect("a second thread", pthread_create(&thread, NULL, add_one, &number), 0);
  pthread_join(thread, NULL);
  expect("it ran", number, 1);
}

/* What is refused, and the others as they were set. */
static void rules(void) {
  const struct rlimit wrong = {2, 1};
  struct rlimit limit = {0, 0};
  expect("soft above hard", setrlimit(RLIMIT_AS, &wrong) == -1 ? errno : 0, EINVAL);
  expect("no such resource", syscall(SYS_setrlimit, 16, &limit) == -1 ? errno : 0, EINVAL);
  expect("no such resource", syscall(SYS_getrlimit, -1, &limit) == -1 ? errno : 0, EINVAL);
  expect("bad address", syscall(SYS_getrlimit, RLIMIT_AS, 8) == -1 ? errno : 0, EFAULT);
  expect("no such process", prlimit(0x3ffffff, RLIMIT_AS, NULL, &limit) == -1 ? errno : 0, ESRCH);
  const int resources[] = {RLIMIT_AS,    RLIMIT_CORE,    RLIMIT_CPU,       RLIMIT_DATA,
                           RLIMIT_FSIZE, RLIMIT_MEMLOCK, RLIMIT_NOFILE,    RLIMIT_NPROC,
                           RLIMIT_RSS,   RLIMIT_STACK,   RLIMIT_SIGPENDING};
  for (unsigned i = 0; i < sizeof resources / sizeof *resources; ++i) {
    const struct rlimit before = limit_of(resources[i]);
    const struct rlimit next = {before.rlim_cur < 100000000 ? before.rlim_cur / 2 : 100000000,
                                before.rlim_max};
    expect("prlimit", prlimit(getpid(), resources[i], &next, &limit), 0);
    expect("before", limit.rlim_cur == before.rlim_cur && limit.rlim_max == before.rlim_max, 1);
    limit = limit_of(resources[i]);
    expect("after", limit.rlim_cur == next.rlim_cur && limit.rlim_max == next.rlim_max, 1);
    expect("back", setrlimit(resources[i], &before), 0);
  }
  if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return;
  const struct rlimit low = {200 * MB, 200 * MB}, high = {200 * MB, 300 * MB};
  expect("lower", setrlimit(RLIMIT_AS, &low), 0);
  expect("higher again", setrlimit(RLIMIT_AS, &high) == -1 ? errno : 0, EPERM);
}

static const struct {
  const char* name;
  void (*part)(void);
} parts[] = {{"address_space", address_space},
             {"small_space", small_space},
             {"data", data},
             {"deeper_at_once", deeper_at_once},
             {"deeper_after_exec", deeper_after_exec},
             {"less_at_once", less_at_once},
             {"less_after_exec", less_after_exec},
             {"arguments", arguments},
             {"files", files},
             {"file_size", file_size},
             {"cpu_time_soft", cpu_time_soft},
             {"cpu_time_hard", cpu_time_hard},
             {"processes", processes},
             {"rules", rules},
             {"small_space_inside", small_space_inside},
             {"all_space_inside", all_space_inside},
             {"deep_inside", deep_inside},
             {"files_inside", files_inside},
             {"file_size_inside", file_size_inside}};

int main(int argc, char** argv) {
  program = argv[0];
  for (unsigned i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (argc == 2 && strcmp(argv[1], parts[i].name) == 0) return parts[i].part(), 0;
    if (argc == 1 && strstr(parts[i].name, "_inside") == NULL) in_child(parts[i].name, parts[i].part);
  }
  return 0;
}
