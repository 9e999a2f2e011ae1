// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/warm_up.h"

#include <algorithm>
#include <cmath>

namespace elision::cli::experiment {
namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Whether the first `rounds` are, by this design.
bool are_cold(const Costs& costs, std::size_t rounds, double smallest_gain) {
  std::vector<double> first, later;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].value_or(0) > 0) (i < rounds ? first : later).push_back(std::log(*costs[i]));
  }
  if (first.empty() || later.size() < kFewestWarmRounds) return false;
  const double middle = median_of(later);
  double farthest = 0;
  for (const double value : later) farthest = std::max(farthest, std::abs(value - middle));
  const double least = middle + std::max(kTimesFarther * farthest, std::log(smallest_gain));
  return std::all_of(first.begin(), first.end(), [least](double value) { return value > least; });
}

}  // namespace

std::size_t cold_rounds(const std::vector<Costs>& designs, std::size_t most, double smallest_gain) {
  for (std::size_t rounds = most; rounds > 0; --rounds) {
    if (std::any_of(designs.begin(), designs.end(),
                    [&](const Costs& costs) { return are_cold(costs, rounds, smallest_gain); }))
      return rounds;
  }
  return 0;
}

}  // namespace elision::cli::experiment
