// SPDX-License-Identifier: Apache-2.0
// The results of several runs in three numbers. Pure.
#pragma once

#include <algorithm>
#include <vector>

namespace elision::cli::experiment {

/// Median, minimum and maximum.
struct Range {
  double median = 0;
  double low = 0;
  double high = 0;
};

/// Zeros if there are no values. The median of an even number of values is the mean of the two in the middle.
inline Range range_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

}  // namespace elision::cli::experiment
