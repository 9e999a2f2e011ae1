// SPDX-License-Identifier: Apache-2.0
#include "profile/independent_samples.h"

#include <algorithm>
#include <numeric>

namespace elision::profile {

void IndependentSamples::add(const Counts& seen) {
  const auto threads = static_cast<double>(std::accumulate(seen.begin(), seen.end(), std::uint64_t{0}));
  if (threads == 0) return;
  ++looks_;
  samples_ += threads;
  squares_of_samples_ += threads * threads;
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto count = static_cast<double>(seen[i]);
    counts_[i] += count;
    squares_[i] += count * count;
    products_[i] += count * threads;
  }
}

std::array<double, kStates> IndependentSamples::estimate() const {
  std::array<double, kStates> result{};
  result.fill(std::min(looks_, samples_));
  if (looks_ < static_cast<double>(kFewestLooks)) return result;
  for (std::size_t i = 0; i < kStates; ++i) {
    const double share = counts_[i] / samples_;
    // The sum of (count - share * threads)^2.
    const double squares = squares_[i] - 2 * share * products_[i] + share * share * squares_of_samples_;
    const double variance = squares * looks_ / (looks_ - 1) / samples_;  // of a sample, as if independent
    const double binomial = share * (1 - share);
    result[i] = binomial > 0 && variance > binomial ? samples_ * binomial / variance : samples_;
  }
  return result;
}

}  // namespace elision::profile
