// SPDX-License-Identifier: Apache-2.0
// How long a run may take, in seconds of real time.
#pragma once

#include <algorithm>

namespace elision::cli::experiment {

inline constexpr double kNoLimit = 1e9;

/// If such a run took `seconds` under another design.
inline double time_limit(double seconds) {
  constexpr double kTimes = 20, kLeast = 60;
  return std::max(kLeast, kTimes * seconds);
}

}  // namespace elision::cli::experiment
