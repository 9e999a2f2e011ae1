// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/remaining_time.h"

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
  all_.add(seconds);
}

double RemainingTime::expected_seconds(const Key& key) const {
  if (const auto found = groups_.find(key); found != groups_.end()) {
    if (const auto mean = found->second.mean.value()) return *mean;
  }
  if (const auto found = with_threads_.find(key.first); found != with_threads_.end())
    return *found->second.value();
  return all_.value().value_or(0);
}

double RemainingTime::seconds_left() const {
  double seconds = 0;
  for (const auto& [key, group] : groups_) seconds += static_cast<double>(group.left) * expected_seconds(key);
  return seconds;
}

}  // namespace elision::cli::experiment
