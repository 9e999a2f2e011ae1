// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace elision::cli::experiment {
namespace {

constexpr double kSmallestCorrelation = 0.5;
constexpr double kChance = 0.05;
constexpr std::size_t kFewestOutcomes = 8;  // too few for thirty uncertain values
constexpr std::size_t kMostNamed = 3;

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) result[order[i]] = static_cast<double>(first + last) / 2;
    first = last + 1;
  }
  return result;
}

/// Pearson's correlation.
double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto mean = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  const double mean_x = mean(x), mean_y = mean(y);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

/// The probability that independent rankings of `n` values correlate at least so strongly. Fisher's
/// transformation, with variance 1.06 / (n - 3) for ranks (Fieller, Hartley and Pearson, Biometrika 44,
/// 1957).
double chance_of(double rank_correlation, std::size_t n) {
  const double deviations =
      std::atanh(std::min(std::fabs(rank_correlation), 1.0)) * std::sqrt(static_cast<double>(n - 3) / 1.06);
  return std::erfc(deviations / std::sqrt(2.0));
}

}  // namespace

double rank_correlation(const std::vector<double>& x, const std::vector<double>& y) {
  return correlation(ranks(x), ranks(y));
}

std::vector<Sensitivity> sensitivities(const std::vector<std::vector<machine::DrawnValue>>& variations,
                                       const std::vector<std::optional<double>>& outcome) {
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < outcome.size(); ++i) {
    if (outcome[i]) known.push_back(i);
  }
  std::vector<Sensitivity> clear;
  if (known.size() < kFewestOutcomes) return clear;
  std::vector<double> outcomes;
  for (const std::size_t i : known) outcomes.push_back(*outcome[i]);
  const std::size_t fields = variations.front().size();
  for (std::size_t field = 0; field < fields; ++field) {
    std::vector<double> levels;
    for (const std::size_t i : known) levels.push_back(variations[i][field].level);
    const double found = rank_correlation(levels, outcomes);
    if (std::fabs(found) < kSmallestCorrelation) continue;
    if (chance_of(found, known.size()) * static_cast<double>(fields) > kChance) continue;
    clear.push_back({variations.front()[field].field, found});
  }
  std::stable_sort(clear.begin(), clear.end(), [](const Sensitivity& a, const Sensitivity& b) {
    return std::fabs(a.correlation) > std::fabs(b.correlation);
  });
  if (clear.size() > kMostNamed) clear.resize(kMostNamed);
  return clear;
}

}  // namespace elision::cli::experiment
