// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/lock_counters.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#include <ctime>

namespace elision::cli::compare {
namespace {

// Mapped rather than read: the files are sparse, 16 MB long and mostly holes.
std::optional<abi::CounterTotals> read_file(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  struct stat status{};
  std::optional<abi::CounterTotals> totals;
  if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data != MAP_FAILED) {
      totals = abi::sum_counters(data, bytes);
      munmap(data, bytes);
    }
  }
  close(descriptor);
  return totals;
}

}  // namespace

std::vector<abi::CounterTotals> read_counters(const std::filesystem::path& directory) {
  std::vector<abi::CounterTotals> processes;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".counters") continue;
    if (auto totals = read_file(entry.path())) processes.push_back(std::move(*totals));
  }
  return processes;
}

LockCounts lock_counts(const std::vector<abi::CounterTotals>& processes, double ticks_per_second) {
  abi::CounterTotals sum;
  for (const abi::CounterTotals& process : processes) sum.add(process);
  LockCounts counts;
  counts.locks_seen = sum.interposed_locks_seen;
  counts.acquisitions = sum.acquisitions;
  counts.commits = sum.commits;
  counts.fallbacks = sum.fallbacks;
  counts.speculations = sum.speculations;
  for (std::size_t i = 0; i < abi::kAbortCauses; ++i) {
    if (sum.aborts[i] != 0) counts.aborts[abi::kAbortCauseNames[i]] = sum.aborts[i];
  }
  if (ticks_per_second > 0)
    counts.longest_wait_seconds = static_cast<double>(sum.longest_wait_ticks) / ticks_per_second;
  return counts;
}

double native_ticks_per_second(const std::vector<abi::CounterTotals>& processes) {
  if (processes.empty()) return 0;
  const abi::CounterTotals& process = processes.front();
  if (process.tsc_khz != 0) return 1000.0 * static_cast<double>(process.tsc_khz);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double now_ns = 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
  const double elapsed_ns = now_ns - static_cast<double>(process.start_monotonic_ns);
  return elapsed_ns > 0 ? 1e9 * static_cast<double>(__rdtsc() - process.start_tsc) / elapsed_ns : 0;
}

}  // namespace elision::cli::compare
