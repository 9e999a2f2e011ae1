// SPDX-License-Identifier: Apache-2.0
// The statistics of a virtual run: with `elision vm --stats-directory` every guest process writes one JSON
// file (0000.json, 0001.json, ... in start order).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace elision::cli::experiment {

/// The processes' statistics in start order. Incomplete files, whose process was killed while it wrote, are
/// skipped.
std::vector<nlohmann::json> read_process_statistics(const std::filesystem::path& directory);

/// The process that used most CPU time, of those whose statistics have `member`. Null: none has.
const nlohmann::json* busiest_process(const std::vector<nlohmann::json>& processes, const char* member);

/// Where the statistics of a part are in `directory`, if a run has so many; `part` counts from 0.
std::filesystem::path directory_of_part(const std::filesystem::path& directory, std::size_t part,
                                        std::size_t parts);

/// Why the engine could not start a process of the guest with statistics in `directory`; empty: all started.
std::string why_not_started(const std::filesystem::path& directory);

/// Why the process was no copy of a snapshot, though it was to be one; empty: it was.
std::string why_no_copy(const std::filesystem::path& directory);

/// Sums of all counters over `processes`, without lists (threads) and numbers that are not counts (seed,
/// exit). virtual_ns and virtual_cycles are the longest process's, since each process has its own clock.
nlohmann::json total_statistics(const std::vector<nlohmann::json>& processes);

}  // namespace elision::cli::experiment
