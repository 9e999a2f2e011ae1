// SPDX-License-Identifier: Apache-2.0
// Shared by the probes: the clock, pinning, the check for RTM, and output.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "htm/cpu.h"
#include "htm/rtm.h"

namespace probe {

inline constexpr int kSkipped = 77;

/// The time-stamp counter, after all earlier instructions.
inline std::uint64_t ticks() {
  std::uint64_t low, high;
  // Puts the halves together in front of the last LFENCE, so that this takes as long whatever follows.
  asm volatile("lfence\nrdtsc\nshl $32, %%rdx\nor %%rdx, %%rax\nlfence"
               : "=a"(low), "=d"(high)
               :
               : "memory", "cc");
  return low;
}

/// Ends the program with 77 unless transactions commit here.
inline void require_rtm() {
  if (elision::htm::detect_cpu().has_rtm) return;
  std::puts("skipped: no live RTM on this CPU");
  std::exit(kSkipped);
}

/// The CPUs that the process may use, as of the first call, which must come before any pinning.
inline const cpu_set_t& usable_cpus() {
  static const cpu_set_t usable = [] {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) CPU_ZERO(&mask);
    return mask;
  }();
  return usable;
}

/// Pins the calling thread to the index-th of the process's CPUs, wherever its creator was pinned. False if
/// there are fewer.
inline bool pin_to(unsigned index) {
  const cpu_set_t& allowed = usable_cpus();
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
  }
  return false;
}

/// Ends the program with 77 unless it may use `count` CPUs.
inline void require_cpus(int count) {
  if (CPU_COUNT(&usable_cpus()) >= count) return;
  std::printf("skipped: needs %d CPUs\n", count);
  std::exit(kSkipped);
}

inline void print(const char* name, double value) { std::printf("%s: %.2f\n", name, value); }

/// The index-th argument as a count, or `otherwise` if it is missing.
inline std::uint64_t count_argument(int argc, char** argv, std::uint64_t otherwise, int index = 1) {
  if (index >= argc) return otherwise;
  char* end = nullptr;
  const std::uint64_t count = std::strtoull(argv[index], &end, 10);
  if (count != 0 && *end == 0) return count;
  std::fprintf(stderr, "%s: not a count: %s\n", argv[0], argv[index]);
  std::exit(2);
}

}  // namespace probe
