// SPDX-License-Identifier: Apache-2.0
// perf_event_open: counting. Threads, children and programs inherit events; groups, formats, ioctls, errors.
// With the argument "whole", prints what tests/programs/events_test.py compares with the statistics.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "event_rules.h"

enum { kTransactions = 500, kAborts = 70 };

static void transactions(void) {
  for (int i = 0; i < kTransactions; ++i) run_transaction();
}

static void aborts(void) {
  for (int i = 0; i < kAborts; ++i)
    __asm__ volatile("mov $-1, %%eax\n xbegin 1f\n xabort $1\n1:" : : : "eax", "memory");
}

static void test_counting(void) {
  const int instructions = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  const int cycles = open_counter(PERF_TYPE_RAW, 0x3c);
  const int clock = open_counter(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  const int reference = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES);
  EXPECT(instructions >= 0 && cycles >= 0 && clock >= 0 && reference >= 0);
  const uint64_t before = count_of(instructions), before_cycles = count_of(cycles),
                 before_clock = count_of(clock);
  work(100000);
  const uint64_t executed = count_of(instructions) - before;
  EXPECT(executed >= 200000 && executed < 201000);
  const uint64_t spent = count_of(cycles) - before_cycles, time = count_of(clock) - before_clock;
  EXPECT(spent >= 100000 && time > 10000 && time < spent);  // more than 1 GHz
  EXPECT(count_of(reference) > 0);
  ioctl(instructions, PERF_EVENT_IOC_DISABLE, 0);
  const uint64_t stopped = count_of(instructions);
  work(1000);
  EXPECT_EQUAL(count_of(instructions), stopped);
  ioctl(instructions, PERF_EVENT_IOC_RESET, 0);
  EXPECT_EQUAL(count_of(instructions), 0);
  ioctl(instructions, PERF_EVENT_IOC_ENABLE, 0);
  work(1000);
  EXPECT(count_of(instructions) >= 2000 && count_of(instructions) < 3000);
  close(instructions), close(cycles), close(clock), close(reference);
}

static void test_transactions(void) {
  const int start = open_counter(PERF_TYPE_RAW, kStart), commit = open_counter(PERF_TYPE_RAW, kCommit);
  const int abort = open_counter(PERF_TYPE_RAW, kAbort), conflict = open_counter(PERF_TYPE_RAW, kConflict);
  const int by_instruction = open_counter(PERF_TYPE_RAW, 0x20c9);
  const int inside = open_counter(PERF_TYPE_RAW, 0x3cull | 1ull << 32);
  const int committed = open_counter(PERF_TYPE_RAW, 0x3cull | 3ull << 32);
  transactions();
  aborts();
  EXPECT(count_of(commit) <= kTransactions &&
         count_of(commit) >= kTransactions - 2);  // an interrupt may abort
  EXPECT_EQUAL(count_of(start), kTransactions + kAborts);
  EXPECT_EQUAL(count_of(start), count_of(commit) + count_of(abort));
  EXPECT_EQUAL(count_of(by_instruction), kAborts);
  EXPECT_EQUAL(count_of(conflict), 0);
  EXPECT(count_of(committed) > 0 && count_of(inside) >= count_of(committed));
  close(start), close(commit), close(abort), close(conflict), close(by_instruction), close(inside),
      close(committed);
}

static void test_group(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_RAW, kStart);
  attr.disabled = 1;
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const int leader = open_event(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  attr.config = kCommit;
  attr.disabled = 0;
  const int member = open_event(&attr, 0, -1, leader, 0);
  EXPECT(leader >= 0 && member >= 0);
  EXPECT((fcntl(leader, F_GETFD) & FD_CLOEXEC) != 0);
  transactions();
  struct {
    uint64_t number, enabled, running;
    struct {
      uint64_t count, id;
    } each[2];
  } group;
  EXPECT_EQUAL(read(leader, &group, sizeof group), sizeof group);
  EXPECT_EQUAL(group.number, 2);
  EXPECT_EQUAL(group.each[0].count + group.each[1].count, 0);  // the member waits for its leader
  EXPECT_EQUAL(group.enabled, 0);
  ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  transactions();
  EXPECT_EQUAL(read(leader, &group, sizeof group), sizeof group);
  EXPECT_EQUAL(group.each[0].count, kTransactions);
  EXPECT(group.each[1].count >= kTransactions - 2);
  EXPECT(group.enabled > 0 && group.enabled == group.running);
  uint64_t id = 0;
  EXPECT_EQUAL(ioctl(member, PERF_EVENT_IOC_ID, &id), 0);
  EXPECT(id == group.each[1].id && id != group.each[0].id);
  EXPECT_EQUAL(read(leader, &group, 8), -1);
  EXPECT_EQUAL(errno, ENOSPC);
  close(member);
  EXPECT_EQUAL(read(leader, &group, sizeof group), 5 * 8);
  close(leader);
}

static void* thread_of_transactions(void* unused) {
  transactions();
  return unused;
}

static void test_inheritance(const char* self) {
  struct perf_event_attr attr = attributes(PERF_TYPE_RAW, kStart);
  const int own = open_event(&attr, 0, -1, -1, 0);
  attr.inherit = 1;
  const int all = open_event(&attr, 0, -1, -1, 0);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, thread_of_transactions, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  transactions();
  EXPECT_EQUAL(count_of(own), kTransactions);
  EXPECT_EQUAL(count_of(all), 4 * kTransactions);
  const pid_t child = fork();
  if (child == 0) {
    transactions();
    EXPECT_EQUAL(count_of(own), kTransactions);  // the parent's
    _exit(failures);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQUAL(status, 0);
  EXPECT_EQUAL(count_of(own), kTransactions);
  EXPECT_EQUAL(count_of(all), 5 * kTransactions);
  const pid_t killed = fork();
  if (killed == 0) {
    transactions();
    raise(SIGTERM);
  }
  waitpid(killed, &status, 0);
  EXPECT_EQUAL(count_of(all), 6 * kTransactions);
  char* const arguments[] = {(char*)self, (char*)"transactions", NULL};
  pid_t spawned = 0;
  EXPECT_EQUAL(posix_spawn(&spawned, self, NULL, NULL, arguments, NULL), 0);  // by vfork
  waitpid(spawned, &status, 0);
  EXPECT_EQUAL(status, 0);
  EXPECT_EQUAL(count_of(own), kTransactions);
  EXPECT_EQUAL(count_of(all), 7 * kTransactions);
  transactions();
  EXPECT_EQUAL(count_of(own), 2 * kTransactions);
  close(own), close(all);
}

static int number[2], go[2];  // pipes

static void* work_when_told(void* unused) {
  const int tid = (int)syscall(SYS_gettid);
  char byte;
  if (write(number[1], &tid, sizeof tid) != sizeof tid || read(go[0], &byte, 1) != 1) exit(2);
  work(50000);
  return unused;
}

static void test_other_thread(void) {
  pthread_t thread;
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  if (pipe(number) != 0 || pipe(go) != 0) exit(2);
  pthread_create(&thread, NULL, work_when_told, NULL);
  int tid = 0;
  if (read(number[0], &tid, sizeof tid) != sizeof tid) exit(2);
  const int event = open_event(&attr, tid, -1, -1, 0);
  EXPECT(event >= 0);
  if (write(go[1], "g", 1) != 1) exit(2);
  pthread_join(thread, NULL);
  EXPECT(count_of(event) >= 100000 && count_of(event) < 110000);
  close(event);
}

/// As perf stat does: the child waits, gets its events, and executes a program.
static void test_exec(const char* self) {
  int start[2];
  if (pipe(start) != 0) exit(2);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(start[1]);
    if (read(start[0], &byte, 1) != 1) _exit(3);
    transactions();  // before the program: not counted
    execl(self, self, "transactions", NULL);
    _exit(4);
  }
  struct perf_event_attr attr = attributes(PERF_TYPE_RAW, kStart);
  attr.disabled = attr.enable_on_exec = attr.inherit = 1;
  const int event = open_event(&attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC);
  EXPECT(event >= 0);
  close(start[0]);
  EXPECT_EQUAL(write(start[1], "g", 1), 1);
  close(start[1]);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQUAL(status, 0);
  EXPECT_EQUAL(count_of(event), kTransactions);
  close(event);
}

static void test_cpus(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_RAW, kStart);
  uint64_t sum = 0;
  int events[4];
  for (int cpu = 0; cpu < 4; ++cpu) events[cpu] = open_event(&attr, 0, cpu, -1, 0);
  transactions();
  for (int cpu = 0; cpu < 4; ++cpu) sum += count_of(events[cpu]), close(events[cpu]);
  EXPECT_EQUAL(sum, kTransactions);
}

static void test_errors(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_RAW, 0xffff);
  EXPECT_EQUAL(open_event(&attr, 0, -1, -1, 0), -ENOENT);
  attr = attributes(PERF_TYPE_RAW, 0x10000003cull << 8);
  EXPECT_EQUAL(open_event(&attr, 0, -1, -1, 0), -EINVAL);
  attr = attributes(PERF_TYPE_BREAKPOINT, 0);
  EXPECT_EQUAL(open_event(&attr, 0, -1, -1, 0), -ENOENT);
  attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  EXPECT_EQUAL(open_event(&attr, -1, -1, -1, 0), -EINVAL);
  EXPECT_EQUAL(open_event(&attr, -1, 0, -1, 0), -EACCES);
  EXPECT_EQUAL(open_event(&attr, 0, 4000, -1, 0), -EINVAL);
  EXPECT_EQUAL(open_event(&attr, 0x3ffffff, -1, -1, 0), -ESRCH);
  EXPECT_EQUAL(open_event(&attr, 0, -1, 0, 0), -EBADF);
  EXPECT_EQUAL(open_event(&attr, 0, -1, -1, 1 << 7), -EINVAL);
  attr.size = 8;
  EXPECT_EQUAL(open_event(&attr, 0, -1, -1, 0), -E2BIG);
  EXPECT_EQUAL(attr.size, sizeof attr);
  attr.precise_ip = 2;
  EXPECT_EQUAL(open_event(&attr, 0, -1, -1, 0), -EINVAL);
  attr.sample_period = 1000, attr.precise_ip = 3;
  EXPECT_EQUAL(open_event(&attr, 0, -1, -1, 0), -EOPNOTSUPP);
  attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES);
  attr.sample_period = 1000;
  EXPECT_EQUAL(open_event(&attr, 0, -1, -1, 0), -EOPNOTSUPP);
  EXPECT_EQUAL(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0), -1);
  EXPECT_EQUAL(errno, EFAULT);
}

/// Counts all that the process does: the statistics say the same.
static int whole_run(void) {
  const char* const names[] = {"begins", "commits", "aborts", "instructions"};
  const unsigned long long configs[] = {kStart, kCommit, kAbort, 0xc0};
  int events[4];
  for (int i = 0; i < 4; ++i) events[i] = open_counter(PERF_TYPE_RAW, configs[i]);
  transactions();
  aborts();
  for (int i = 0; i < 4; ++i) printf("%s %llu\n", names[i], (unsigned long long)count_of(events[i]));
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "transactions") == 0) return transactions(), 0;
  if (argc > 1 && strcmp(argv[1], "whole") == 0) return whole_run();
  test_counting();
  test_transactions();
  test_group();
  test_inheritance(argv[0]);
  test_other_thread();
  test_exec(argv[0]);
  test_cpus();
  test_errors();
  printf("%s\n", failures == 0 ? "ok" : "failed");
  return failures != 0;
}
