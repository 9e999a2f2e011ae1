// SPDX-License-Identifier: Apache-2.0
// Ratios of neighbouring rounds. The two sides take turns in rounds of some milliseconds, and each goes first
// in every other pair. So both have the disadvantages of going first, and other work on the machine affects
// both alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lock_costs {

struct Ratio {
  double median;
  double lower_quartile;
  double upper_quartile;
};

/// The quantile of sorted values, interpolated between neighbours.
inline double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The ratio of `preloaded()` to `glibc()`, each of which runs one round and returns its result.
template <class Preloaded, class Glibc>
Ratio ratio_in_turns(int pairs, Preloaded preloaded, Glibc glibc) {
  std::vector<double> ratios;
  for (int i = 0; i < pairs; ++i) {
    const bool preloaded_first = i % 2 == 0;
    double ours = preloaded_first ? preloaded() : 0;
    const double theirs = glibc();
    if (!preloaded_first) ours = preloaded();
    ratios.push_back(ours / theirs);
  }
  std::sort(ratios.begin(), ratios.end());
  return {quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75)};
}

}  // namespace lock_costs
