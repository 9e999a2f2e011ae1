// SPDX-License-Identifier: Apache-2.0
// The rounds in which a real CPU and its system were not warm yet: files not in the page cache, a low clock,
// empty tables of the kernel. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace elision::cli::experiment {

/// The costs of one design by round (seconds, or the inverse of a metric); nothing if a run is missing.
using Costs = std::vector<std::optional<double>>;

/// The first rounds are cold if in each of them the cost of one design exceeds the median of its later rounds
/// by more than the smallest gain, and by more than so many times the largest deviation of a later round from
/// that median. Logarithms are compared.
inline constexpr double kTimesFarther = 4;

/// Cold rounds are told only from at least so many later ones.
inline constexpr std::size_t kFewestWarmRounds = 4;

/// The number of cold rounds, at most `most`.
std::size_t cold_rounds(const std::vector<Costs>& designs, std::size_t most, double smallest_gain);

}  // namespace elision::cli::experiment
