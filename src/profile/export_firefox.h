// SPDX-License-Identifier: Apache-2.0
// Call paths as the Firefox Profiler (profiler.firefox.com) takes them: its processed profile format, version
// 58, which later versions of it convert. One track a thread, one category a state
// or cause. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "profile/export_labels.h"

namespace elision::profile {

inline constexpr unsigned kFirefoxVersion = 58;

/// A profile has sums and no order of events. So in each track the paths follow each other, sorted by kind,
/// each for as long as it took in all; a million cycles or aborts are as long as a millisecond.
nlohmann::ordered_json firefox_json(const PathTable& table, const Origin& origin);

}  // namespace elision::profile
