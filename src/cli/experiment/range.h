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

  /// The distance of minimum and maximum as a share of the median: 0.05 is 5 %.
  double spread() const { return median > 0 ? (high - low) / median : 0; }
  bool overlaps(const Range& other) const { return low <= other.high && other.low <= high; }
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
