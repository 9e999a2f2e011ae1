// SPDX-License-Identifier: Apache-2.0
// Reads the counter files of the lock library (abi/counters.h) and of libelision-tm (abi/tm_counters.h), one
// per process. If a virtual machine counted a part of the run, the numbers are those of the part.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "abi/counters_reader.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// The totals of every complete counter file in `directory`.
std::vector<abi::CounterTotals> read_counters(const std::filesystem::path& directory);

/// The counter files in `directory`, one a process.
std::vector<std::filesystem::path> counter_files(const std::filesystem::path& directory);

using LockCountsByAddress = std::map<std::uint64_t, abi::CounterEntry>;

/// The counts of one counter file for each lock. Empty if it cannot be read.
LockCountsByAddress counts_by_lock(const std::filesystem::path& file);

/// The counts of one counter file for each thread, by its id. Empty if it cannot be read.
std::map<std::uint32_t, abi::CounterEntry> counts_by_thread(const std::filesystem::path& file);

/// The counter file of process `id`, of the program that it executed last. Empty: it has none.
std::filesystem::path file_of_process(const std::filesystem::path& directory, std::uint32_t id);

/// Why a process with the lock library left no counters in `directory`; empty: no such process is known.
std::string why_not_counted(const std::filesystem::path& directory);

/// Sums over all processes. `ticks_per_second` is the rate of their time-stamp counter.
LockCounts lock_counts(const std::vector<abi::CounterTotals>& processes, double ticks_per_second);

/// Sums of libelision-tm's counters over all processes that left them in `directory`. A process does with its
/// first transaction.
LockCounts tm_counts(const std::filesystem::path& directory);

/// The rate of this CPU's time-stamp counter, measured since the first of `processes` started.
double native_ticks_per_second(const std::vector<abi::CounterTotals>& processes);

}  // namespace elision::cli::experiment
