// SPDX-License-Identifier: Apache-2.0
// The statistics file of `elision vm --stats`: every guest process leaves one JSON file in a
// directory (0000.json, 0001.json, ... in start order); this puts them together.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine/variation.h"

namespace elision::cli {

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

/// {field: value}: numbers and truth values as such, words as text.
nlohmann::json drawn_json(const std::vector<machine::DrawnValue>& drawn);

/// {"processes", "totals"} of one run.
nlohmann::json process_statistics(const std::vector<nlohmann::json>& processes);

/// The whole file: {"version", "machine", "variation", "drawn", "processes", "totals"}.
nlohmann::json merged_statistics(const std::string& machine, std::uint32_t variation,
                                 const std::vector<machine::DrawnValue>& drawn,
                                 const std::vector<nlohmann::json>& processes);

}  // namespace elision::cli
