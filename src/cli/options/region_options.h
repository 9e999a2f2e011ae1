// SPDX-License-Identifier: Apache-2.0
// --start, --warmup, --stop and --length, shared by `vm` and `compare`: the part of a run that the virtual
// machine simulates in full.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vm/interface/run_region.h"

namespace CLI {
class App;
}

namespace elision::cli {

inline constexpr const char* kStart = "--start";
inline constexpr const char* kStop = "--stop";

/// No time of an option is longer: eleven days.
inline constexpr std::uint64_t kMostNanoseconds = 1'000'000'000'000'000;

/// Adds the options to a verb. Parsing throws UsageError for an event that does not exist.
void add_region_options(CLI::App& app, vm::RunRegion& region);

/// Adds --end-with-part and --count-calls, which mean nothing to a comparison of whole parts.
void add_part_options(CLI::App& app, vm::RunRegion& region);

/// Nanoseconds in "5ms" and the like. Throws UsageError that names `option`, also for 0.
std::uint64_t nonzero_time_or_throw(const char* option, const std::string& text);

/// Whether the event comes after some time or work, wherever the program is then.
bool is_cut(const vm::Trigger& trigger);

/// Throws UsageError if the region ends before it begins.
void check_region(const vm::RunRegion& region);

/// The same options as words for another `elision` process.
std::vector<std::string> as_words(const vm::RunRegion& region);

}  // namespace elision::cli
