// SPDX-License-Identifier: Apache-2.0
// Reads the counter files that the lock library left in a directory (abi/counters.h), one a process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "abi/counters_reader.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// The totals of every complete counter file in `directory`.
std::vector<abi::CounterTotals> read_counters(const std::filesystem::path& directory);

/// Why a process that the lock library was in left no counters in `directory`; empty: none is known to have
/// left none.
std::string why_not_counted(const std::filesystem::path& directory);

/// All processes together. `ticks_per_second` is the rate of the time-stamp counter they ran with.
LockCounts lock_counts(const std::vector<abi::CounterTotals>& processes, double ticks_per_second);

/// The rate of this CPU's time-stamp counter, measured since `process` started.
double native_ticks_per_second(const std::vector<abi::CounterTotals>& processes);

}  // namespace elision::cli::experiment
