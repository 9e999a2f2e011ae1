// SPDX-License-Identifier: Apache-2.0
// Which of a machine's uncertain values an outcome depends on. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/variation.h"

namespace elision::cli::experiment {

/// Spearman's rank correlation of two lists of the same length; ties share their ranks' mean. 0 if one of
/// them never varies.
double rank_correlation(const std::vector<double>& x, const std::vector<double>& y);

struct Sensitivity {
  std::string field;
  double correlation = 0;
};

/// The values with a clear rank correlation with `outcome` (one per variation, nothing if unknown): at least
/// 0.5 in size, and significant at 5 % after Bonferroni's correction for the number of values. Strongest
/// first, at most three. None if there are fewer than eight outcomes.
std::vector<Sensitivity> sensitivities(const std::vector<std::vector<machine::DrawnValue>>& variations,
                                       const std::vector<std::optional<double>>& outcome);

}  // namespace elision::cli::experiment
