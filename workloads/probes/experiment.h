// SPDX-License-Identifier: Apache-2.0
// Shared by the experiments: quantiles of single timings, lines far apart, and ways to bring a line into a
// state.
//
// An experiment times single events, tens of thousands of times, and prints quantiles, since interrupts and a
// hypervisor cause outliers of thousands of ticks. A timing includes two readings of the clock, whose cost is
// clock_ticks().
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/random.h"
#include "probe.h"

namespace probe {

inline constexpr std::size_t kLineBytes = 64;

/// Prints the 10th, 50th and 90th percentile of `spent` as "name: low median high". Sorts them.
inline void print_quantiles(const char* name, std::vector<std::uint64_t>& spent) {
  if (spent.empty()) {
    std::printf("%s:\n", name);
    return;
  }
  std::sort(spent.begin(), spent.end());
  const auto at = [&](std::size_t percent) { return spent[spent.size() * percent / 100]; };
  std::printf("%s: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, at(10), at(50), at(90));
}

inline constexpr std::size_t kHugePage = 2 << 20;

/// Zeroed memory that starts at a huge page, with this advice to the system (MADV_HUGEPAGE or
/// MADV_NOHUGEPAGE).
inline unsigned char* fresh_memory(std::size_t bytes, int advice) {
  void* memory = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "no memory: %zu bytes\n", bytes);
    std::exit(1);
  }
  auto* first = reinterpret_cast<unsigned char*>((reinterpret_cast<std::uintptr_t>(memory) + kHugePage - 1) &
                                                 ~(kHugePage - 1));
  madvise(first, bytes, advice);
  return first;
}

/// Zeroed memory, on huge pages if possible, with every page mapped. Never freed.
inline unsigned char* touched_memory(std::size_t bytes) {
  unsigned char* const first = fresh_memory(bytes, MADV_HUGEPAGE);
  for (std::size_t i = 0; i < bytes; i += 4096) first[i] = 1;
  return first;
}

inline void evict(const volatile void* line) { asm volatile("clflush (%0)" : : "r"(line) : "memory"); }
inline void fence() { asm volatile("mfence" : : : "memory"); }
inline std::uint64_t load(const volatile void* place) {
  std::uint64_t value;
  asm volatile("movq (%1), %0" : "=r"(value) : "r"(place) : "memory");
  return value;
}
inline void store(volatile void* place, std::uint64_t value) {
  asm volatile("movq %1, (%0)" : : "r"(place), "r"(value) : "memory");
}
inline void locked_add(volatile void* place) {
  asm volatile("lock addq $1, (%0)" : : "r"(place) : "memory", "cc");
}

/// `count` dependent multiplications without memory accesses: three cycles each on every Intel core since
/// Nehalem.
inline void work(std::uint64_t count) {
  std::uint64_t value = 3;
  for (std::uint64_t i = 0; i < count; ++i) asm volatile("imulq %0, %0" : "+r"(value) : : "cc");
}

/// The median cost of two readings of the clock.
inline std::uint64_t clock_ticks() {
  std::vector<std::uint64_t> spent(10001);
  for (auto& each : spent) {
    const std::uint64_t before = ticks();
    each = ticks() - before;
  }
  std::nth_element(spent.begin(), spent.begin() + 5000, spent.end());
  return spent[5000];
}

/// The mean of those numbers that are at most twice the median, so that interrupts do not count. Unlike a
/// median of few ticks, it has a fraction. Sorts them.
inline double trimmed_mean(std::vector<std::uint64_t>& spent) {
  if (spent.empty()) return 0;
  std::sort(spent.begin(), spent.end());
  const std::uint64_t most = 2 * spent[spent.size() / 2];
  double sum = 0;
  std::size_t count = 0;
  for (; count < spent.size() && spent[count] <= most; ++count) sum += static_cast<double>(spent[count]);
  return sum / static_cast<double>(count);
}

/// The distance from the 10th to the 90th percentile in percent of the median, each less `base`. Sorts them.
inline double spread_percent(std::vector<std::uint64_t>& spent, double base) {
  if (spent.empty()) return 0;
  std::sort(spent.begin(), spent.end());
  const auto at = [&](std::size_t percent) {
    return static_cast<double>(spent[spent.size() * percent / 100]);
  };
  return 100 * (at(90) - at(10)) / (at(50) - base);
}

/// The mean cost of two readings of the clock.
inline double clock_mean() {
  std::vector<std::uint64_t> spent(10000);
  for (auto& each : spent) {
    const std::uint64_t before = ticks();
    each = ticks() - before;
  }
  return trimmed_mean(spent);
}

}  // namespace probe
