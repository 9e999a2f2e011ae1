// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/lock_counters.h"

#include <fcntl.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>

#include "abi/counters_file.h"

namespace elision::cli::experiment {
namespace {

// The program may have removed the directory.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    files.push_back(at->path());
  return files;
}

// A counter file as it is, or as it was at the bounds of the part that a virtual machine counts.
struct Counted {
  std::string until;
  std::string before;  // empty: nothing

  std::optional<abi::CounterTotals> totals() const {
    auto sums = abi::sum_counters(until.data(), until.size());
    const auto earlier = abi::sum_counters(before.data(), before.size());
    if (sums && earlier) sums->subtract(*earlier);
    return sums;
  }

  LockCountsByAddress by_lock() const {
    LockCountsByAddress sums = abi::sums_by_lock(until.data(), until.size());
    for (const auto& [lock, earlier] : abi::sums_by_lock(before.data(), before.size()))
      abi::subtract(sums[lock], earlier);
    return sums;
  }

  std::map<std::uint32_t, abi::CounterEntry> by_thread() const {
    auto sums = abi::sums_by_thread(until.data(), until.size());
    for (const auto& [thread, earlier] : abi::sums_by_thread(before.data(), before.size()))
      abi::subtract(sums[thread], earlier);
    return sums;
  }
};

Counted read_counted(const std::filesystem::path& file) {
  const auto read = [&](const char* suffix) {
    return abi::read_counter_file((file.string() + suffix).c_str());
  };
  Counted counted{read(abi::kCountersAtEnd), read(abi::kCountersAtBegin)};
  if (counted.until.empty()) counted.until = read("");
  return counted;
}

// The same for a counter file of libelision-tm.
std::optional<abi::TmCounterTotals> tm_totals(const std::filesystem::path& file) {
  const auto read = [&](const char* suffix) {
    const std::string data = abi::read_tm_counter_file((file.string() + suffix).c_str());
    return abi::sum_tm_counters(data.data(), data.size());
  };
  auto totals = read(abi::kCountersAtEnd);
  if (!totals) totals = read("");
  const auto earlier = read(abi::kCountersAtBegin);
  if (totals && earlier) totals->subtract(*earlier);
  return totals;
}

std::map<std::string, std::uint64_t> aborts_by_name(const std::uint64_t (&aborts)[abi::kAbortCauses]) {
  std::map<std::string, std::uint64_t> named;
  for (std::size_t i = 0; i < abi::kAbortCauses; ++i)
    if (aborts[i] != 0) named[abi::kAbortCauseNames[i]] = aborts[i];
  return named;
}

// The error when creating a file in `directory`; 0: none.
int error_of_new_file(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "probe";
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return errno;
  close(descriptor);
  unlink(file.c_str());
  return 0;
}

}  // namespace

std::vector<std::filesystem::path> counter_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files = files_in(directory);
  std::erase_if(
      files, [](const std::filesystem::path& file) { return file.extension() != abi::kCountersExtension; });
  return files;
}

std::vector<abi::CounterTotals> read_counters(const std::filesystem::path& directory) {
  std::vector<abi::CounterTotals> processes;
  for (const std::filesystem::path& file : counter_files(directory)) {
    if (auto totals = read_counted(file).totals()) processes.push_back(std::move(*totals));
  }
  return processes;
}

LockCountsByAddress counts_by_lock(const std::filesystem::path& file) { return read_counted(file).by_lock(); }

std::map<std::uint32_t, abi::CounterEntry> counts_by_thread(const std::filesystem::path& file) {
  return read_counted(file).by_thread();
}

std::filesystem::path file_of_process(const std::filesystem::path& directory, std::uint32_t id) {
  std::filesystem::path found;
  std::uint64_t started = 0;
  for (const std::filesystem::path& file : counter_files(directory)) {
    const auto totals = read_counted(file).totals();
    if (!totals || totals->process_id != id || totals->start_monotonic_ns < started) continue;
    started = totals->start_monotonic_ns;
    found = file;
  }
  return found;
}

std::string why_not_counted(const std::filesystem::path& directory) {
  constexpr std::string_view kMark = abi::kNoCountersMark;
  bool any_counters = false;
  for (const std::filesystem::path& file : files_in(directory)) {
    const std::string name = file.filename().string();
    if (name.starts_with(kMark)) return std::strerror(std::atoi(name.c_str() + kMark.size()));
    any_counters |= file.extension() == abi::kCountersExtension;
  }
  const int error = any_counters ? 0 : error_of_new_file(directory);
  return error == 0 ? "" : std::strerror(error);
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
  counts.aborts = aborts_by_name(sum.aborts);
  if (ticks_per_second > 0)
    counts.longest_wait_seconds = static_cast<double>(sum.longest_wait_ticks) / ticks_per_second;
  return counts;
}

LockCounts tm_counts(const std::filesystem::path& directory) {
  LockCounts counts;
  std::optional<abi::TmCounterTotals> sum;
  for (const std::filesystem::path& file : files_in(directory)) {
    if (file.extension() != abi::kTmCountersExtension) continue;
    const auto totals = tm_totals(file);
    if (totals && sum) sum->add(*totals);
    if (totals && !sum) sum = totals;
  }
  if (!sum) return counts;
  counts.acquisitions = sum->hardware_commits() + sum->software_commits() + sum->counts.cancels;
  counts.locks_seen = counts.acquisitions != 0;
  counts.commits = sum->hardware_commits();
  counts.fallbacks = sum->software_commits();
  counts.aborts = aborts_by_name(sum->counts.aborts);
  counts.tm = sum->counts;
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

}  // namespace elision::cli::experiment
