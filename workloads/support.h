// SPDX-License-Identifier: Apache-2.0
// Shared by benchmark programs: the clock, throughput, cheap random numbers, pinning of threads.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

namespace workloads {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

/// Prints how many there were of what a run counts, its seconds, and how many in a second.
inline void print_throughput(const char* what, std::uint64_t number, std::uint64_t run_ns) {
  const double seconds = static_cast<double>(run_ns) / 1e9;
  std::printf("%s: %" PRIu64 "\nseconds: %.6f\nthroughput: %.1f %s/s\n", what, number, seconds,
              static_cast<double>(number) / seconds, what);
}

/// Returns 0, or prints what a check has found as one line and returns 1. `complaint`: empty if all is right.
inline int exit_code(const std::string& complaint) {
  if (complaint.empty()) return 0;
  std::puts(complaint.c_str());
  return 1;
}

/// The same for an error that is not an update that was lost.
inline int exit_code_if_wrong(const std::string& error) {
  return exit_code(error.empty() ? error : "WRONG " + error);
}

/// xorshift64*: a few cycles per number, so that drawing does not dominate.
class CheapRandom {
 public:
  explicit CheapRandom(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {
    if (state_ == 0) state_ = 1;
  }
  std::uint32_t below(std::uint32_t bound) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>(((state_ * 0x2545f4914f6cdd1dull >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

/// Binds the calling thread to the index-th CPU that this process may use, wrapping around.
inline void pin_to(unsigned index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  unsigned wanted = index % static_cast<unsigned>(CPU_COUNT(&allowed));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || wanted-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

}  // namespace workloads
