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

bool is_cold(const Costs& costs, std::size_t round, double smallest_gain) {
  if (round >= costs.size() || costs[round].value_or(0) <= 0) return false;
  std::vector<double> later;
  for (std::size_t i = round + 1; i < costs.size(); ++i) {
    if (costs[i].value_or(0) > 0) later.push_back(std::log(*costs[i]));
  }
  if (later.size() < kFewestWarmRounds) return false;
  const double middle = median_of(later);
  double farthest = 0;
  for (const double value : later) farthest = std::max(farthest, std::abs(value - middle));
  return std::log(*costs[round]) - middle > std::max(kTimesFarther * farthest, std::log(smallest_gain));
}

}  // namespace

std::size_t cold_rounds(const std::vector<Costs>& designs, double smallest_gain) {
  std::size_t rounds = 0;
  for (const Costs& costs : designs) rounds = std::max(rounds, costs.size());
  for (std::size_t cold = rounds / 3; cold > 0; --cold) {
    if (std::any_of(designs.begin(), designs.end(),
                    [&](const Costs& costs) { return is_cold(costs, cold - 1, smallest_gain); }))
      return cold;
  }
  return 0;
}

}  // namespace elision::cli::experiment
