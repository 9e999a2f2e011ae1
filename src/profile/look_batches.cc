// SPDX-License-Identifier: Apache-2.0
#include "profile/look_batches.h"

#include <algorithm>
#include <numeric>

#include "profile/share_interval.h"

namespace elision::profile {
namespace {

using Counts = LookBatches::Counts;

double sum_of(const Counts& counts) {
  return static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
}

void add_to(Counts& sum, const Counts& more) {
  for (std::size_t i = 0; i < kStates; ++i) sum[i] += more[i];
}

/// Student's quantile over the normal one, squared, for the confidence of share_interval.h: the variance
/// between few batches is not sure either. Fisher and Cornish's expansion, to 0.1 % from 8 degrees on.
double wider_for(double degrees) {
  const double z = kShareDeviations, z2 = z * z;
  const double first = (z2 + 1) / 4, second = (5 * z2 * z2 + 16 * z2 + 3) / 96;
  const double ratio = 1 + first / degrees + second / (degrees * degrees);
  return ratio * ratio;
}

}  // namespace

void LookBatches::add(const Counts& seen) {
  if (sum_of(seen) == 0) return;
  if (batches_.empty() || looks_in_last_ == looks_per_batch_) {
    if (batches_.size() == kMost) {
      for (std::size_t i = 0; i < kMost / 2; ++i) {
        batches_[i] = batches_[2 * i];
        add_to(batches_[i], batches_[2 * i + 1]);
      }
      batches_.resize(kMost / 2);
      looks_per_batch_ *= 2;
    }
    batches_.emplace_back();
    looks_in_last_ = 0;
  }
  add_to(batches_.back(), seen);
  ++looks_in_last_;
  ++looks_;
}

std::array<double, kStates> LookBatches::independent_samples() const {
  std::array<double, kStates> result{};
  if (looks_ < kFewest) {
    result.fill(static_cast<double>(looks_));
    return result;
  }
  std::vector<Counts> batches = batches_;
  if (looks_in_last_ < looks_per_batch_) {  // the batch before it becomes longer
    add_to(batches[batches.size() - 2], batches.back());
    batches.pop_back();
  }
  Counts all{};
  for (const Counts& batch : batches) add_to(all, batch);
  const double samples = sum_of(all), count = static_cast<double>(batches.size());
  for (std::size_t i = 0; i < kStates; ++i) {
    const double share = static_cast<double>(all[i]) / samples;
    double squares = 0, products = 0, before = 0;
    for (const Counts& batch : batches) {
      const double beyond = static_cast<double>(batch[i]) - share * sum_of(batch);
      squares += beyond * beyond;
      products += beyond * before;
      before = beyond;
    }
    const double sum = squares + 2 * std::max(0.0, products);
    const double variance = sum * count / (count - 1) / samples;  // of one sample, as if independent
    const double binomial = share * (1 - share);
    const double dependence = binomial > 0 ? variance / binomial * wider_for(count - 1) : 1;
    result[i] = samples / std::max(1.0, dependence);
  }
  return result;
}

}  // namespace elision::profile
