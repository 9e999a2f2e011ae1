// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/remaining_time.h"

#include <algorithm>

namespace elision::cli::experiment {

void RemainingTime::Mean::add(double more) {
  seconds += more;
  ++runs;
}

std::optional<double> RemainingTime::Mean::value() const {
  if (runs == 0) return std::nullopt;
  return seconds / static_cast<double>(runs);
}

void RemainingTime::end(const Cell& cell, double seconds) {
  Group& group = this->group(cell);
  --group.left;
  group.mean.add(seconds);
  with_threads_[cell.threads].add(seconds);
}

double RemainingTime::expected_seconds(const Key& key) const {
  if (const auto found = groups_.find(key); found != groups_.end()) {
    if (const auto mean = found->second.mean.value()) return *mean;
  }
  if (with_threads_.empty()) return 0;
  // The next smaller number of threads that has run, or the smallest of all.
  auto nearest = with_threads_.upper_bound(key.first);
  if (nearest != with_threads_.begin()) --nearest;
  const double more_threads =
      key.first && nearest->first ? static_cast<double>(*key.first) / *nearest->first : 1;
  return *nearest->second.value() * std::max(more_threads, 1.0);
}

double RemainingTime::seconds_left() const {
  double seconds = 0;
  for (const auto& [key, group] : groups_) seconds += static_cast<double>(group.left) * expected_seconds(key);
  return seconds;
}

}  // namespace elision::cli::experiment
