// SPDX-License-Identifier: Apache-2.0
// Which of a machine's uncertain values an outcome turns on. Pure.
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

/// The values whose rank correlation with `outcome` (one a variation, nothing where unknown) is clear: at
/// least one half in size, and so large by chance for any of the values in fewer than one comparison in
/// twenty (Bonferroni). Strongest first, at most three; none if there are fewer than eight
/// outcomes.
std::vector<Sensitivity> sensitivities(const std::vector<std::vector<machine::DrawnValue>>& variations,
                                       const std::vector<std::optional<double>>& outcome);

}  // namespace elision::cli::experiment
