// SPDX-License-Identifier: Apache-2.0
// What the processes of a virtual run left: `elision vm --stats-directory` has every guest process write one
// JSON file (0000.json, 0001.json, ... in start order).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace elision::cli::experiment {

/// The processes' statistics in start order. A file that is not whole JSON (its process was killed
/// while it wrote) is left out.
std::vector<nlohmann::json> read_process_statistics(const std::filesystem::path& directory);

/// Why the engine could not start a process of the guest that leaves its statistics in `directory`; empty: it
/// could start all.
std::string why_not_started(const std::filesystem::path& directory);

/// Sums of every counter over `processes`. Numbers that are no counts (seed, exit) and lists (threads)
/// stay out; virtual_ns and virtual_cycles are the longest process's, since processes have clocks of
/// their own.
nlohmann::json total_statistics(const std::vector<nlohmann::json>& processes);

}  // namespace elision::cli::experiment
