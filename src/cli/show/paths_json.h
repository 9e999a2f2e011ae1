// SPDX-License-Identifier: Apache-2.0
// The parts of the JSON report of a profile that a comparison has not: threads, call paths, intervals. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "profile/profile.h"

namespace elision::cli {

/// "threads": those of which there are call paths.
nlohmann::json threads_json(const profile::Profile& profile);

/// "call_paths", or null if there are none. There may be hundreds of thousands, so they are columns: path i
/// is in paths.state[i], at paths.lock[i], and so on. A stack is a function with the stack of its callers,
/// which has a smaller number. -1: at no lock, or no caller.
nlohmann::json call_paths_json(const profile::Profile& profile);

/// "call_paths" of "abort_events", or null if there are none: the same columns, with causes in place of
/// states and without locks and threads. The calls that led to a transaction are above the frame "[in a
/// transaction]", those in it below. "unit": of paths.weight, "cycles" or "aborts".
nlohmann::json abort_paths_json(const profile::Profile& profile);

/// "time_intervals": of each share of time. Null if the profile is exact.
nlohmann::json time_intervals_json(const profile::Profile& profile);

}  // namespace elision::cli
