// SPDX-License-Identifier: Apache-2.0
// Shared by the programs that test perf_event_open in the virtual machine. A check that fails prints one
// line, and the program ends with 1.
#pragma once
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kStart = 0x1c9, kCommit = 0x2c9, kAbort = 0x4c9, kConflict = 0x154, kCapacity = 0x254 };

static int failures;

#define EXPECT(condition)                                                                      \
  do {                                                                                         \
    if (!(condition)) ++failures, printf("line %d: " #condition " does not hold\n", __LINE__); \
  } while (0)
#define EXPECT_EQUAL(a, b)                                                                                   \
  do {                                                                                                       \
    const long long left_ = (long long)(a), right_ = (long long)(b);                                         \
    if (left_ != right_) ++failures, printf("line %d: " #a " is %lld, not %lld\n", __LINE__, left_, right_); \
  } while (0)

static inline struct perf_event_attr attributes(unsigned type, unsigned long long config) {
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.type = type;
  attr.size = sizeof attr;
  attr.config = config;
  attr.exclude_kernel = attr.exclude_hv = 1;
  return attr;
}

static inline int open_event(struct perf_event_attr* attr, int pid, int cpu, int group, unsigned long flags) {
  const long descriptor = syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
  return descriptor < 0 ? -errno : (int)descriptor;
}

static inline int open_counter(unsigned type, unsigned long long config) {
  struct perf_event_attr attr = attributes(type, config);
  return open_event(&attr, 0, -1, -1, 0);
}

static inline uint64_t count_of(int event) {
  uint64_t count = ~0ull;
  return read(event, &count, sizeof count) == (ssize_t)sizeof count ? count : ~0ull;
}

/// Executes about 2 instructions a step, one branch each.
static inline void work(unsigned long steps) {
  __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(steps) : : "cc");
}

/// A transaction that commits. Returns its status: -1 if it did.
static inline unsigned run_transaction(void) {
  unsigned status = ~0u;
  __asm__ volatile("xbegin 1f\n nop\n xend\n1:" : "+a"(status) : : "memory");
  return status;
}

/// A transaction that aborts by XABORT 0x5a.
static __attribute__((noinline, noclone, unused)) unsigned run_abort(void) {
  unsigned status = ~0u;
  __asm__ volatile(
      ".globl aborting_instruction\n xbegin 1f\n nop\naborting_instruction: xabort $0x5a\n xend\n1:"
      : "+a"(status)
      :
      : "memory");
  return status;
}
