// SPDX-License-Identifier: Apache-2.0
// The rounds in which a real CPU and its system were not warm yet: files not in the page cache, a low clock,
// empty tables of the kernel. Pure.
#pragma once

#include <optional>
#include <vector>

namespace elision::cli::experiment {

/// The costs of one design by round (seconds, or the inverse of a metric); nothing if a run is missing.
using Costs = std::vector<std::optional<double>>;

/// A round is cold if a design's cost lies this many times farther above the median of its later rounds than
/// any of these does, up or down, and above it by more than `smallest_gain` in the function below. Logarithms
/// are compared.
inline constexpr double kTimesFarther = 4;

/// So many rounds must follow the cold ones.
inline constexpr std::size_t kFewestWarmRounds = 4;

/// The number of first rounds up to the last cold one, at most a third of all.
std::size_t cold_rounds(const std::vector<Costs>& designs, double smallest_gain);

}  // namespace elision::cli::experiment
