// SPDX-License-Identifier: Apache-2.0
#include "profile/independent_samples.h"

#include <algorithm>
#include <numeric>

namespace elision::profile {
namespace {

constexpr auto kCommitted = static_cast<std::size_t>(State::kAttempt);
constexpr auto kAborted = static_cast<std::size_t>(State::kAborted);

}  // namespace

void IndependentSamples::add(const Look& look) {
  Kinds seen{};
  std::copy(look.known.begin(), look.known.end(), seen.begin());
  seen[kUnknown] = static_cast<double>(look.attempts_unknown);
  const double threads = std::accumulate(seen.begin(), seen.end(), 0.0);
  if (threads == 0) return;
  ++looks_;
  samples_ += threads;
  for (std::size_t i = 0; i < kKinds; ++i) {
    counts_[i] += seen[i];
    for (std::size_t j = 0; j < kKinds; ++j) products_[i][j] += seen[i] * seen[j];
  }
}

double IndependentSamples::attempts_known() const { return counts_[kCommitted] + counts_[kAborted]; }
double IndependentSamples::part_in_attempts() const {
  return (attempts_known() + counts_[kUnknown]) / samples_;
}

/// The error of a state's share to which a look adds this much for each thread that it sees of a kind.
IndependentSamples::Kinds IndependentSamples::error_of_share(State state, double aborted_part) const {
  Kinds weights{};
  const auto is_state = static_cast<std::size_t>(state);
  if (is_state != kCommitted && is_state != kAborted) {
    weights.fill(-counts_[is_state] / samples_ / samples_);
    weights[is_state] += 1 / samples_;
    return weights;
  }
  // The share is `part` of all attempts.
  const double part = is_state == kAborted ? aborted_part : 1 - aborted_part;
  const double attempts = part_in_attempts();
  weights.fill(-part * attempts / samples_);
  for (const std::size_t kind : {kCommitted, kAborted, kUnknown}) weights[kind] += part / samples_;
  if (attempts_known() == 0) return weights;
  for (const std::size_t kind : {kCommitted, kAborted})
    weights[kind] += attempts * ((kind == is_state ? 1 : 0) - part) / attempts_known();
  return weights;
}

/// Of an error to which each look adds weights times what it saw.
double IndependentSamples::variance(const Kinds& weights) const {
  double sum = 0;
  for (std::size_t i = 0; i < kKinds; ++i)
    for (std::size_t j = 0; j < kKinds; ++j) sum += weights[i] * weights[j] * products_[i][j];
  return sum * looks_ / (looks_ - 1);
}

/// As many samples as there are, or fewer if it is known of few attempts how they ended: as many as tell the
/// share as surely as two ratios do, that of attempts in all samples and that of `part` in known attempts,
/// were all samples independent of each other.
double IndependentSamples::most_for_attempts(double part) const {
  const double known = attempts_known(), attempts = part_in_attempts(), share = part * attempts;
  if (known == 0 || attempts == 0) return samples_;
  if (share == 0 || share == 1) return std::min(samples_, known / attempts);  // the limit of what follows
  const double variance_of_product =
      part * part * attempts * (1 - attempts) / samples_ + attempts * attempts * part * (1 - part) / known;
  return std::min(samples_, share * (1 - share) / variance_of_product);
}

std::array<double, kStates> IndependentSamples::estimate(double aborted_part) const {
  std::array<double, kStates> result{};
  result.fill(std::min(looks_, samples_));
  if (looks_ < static_cast<double>(kFewestLooks)) return result;
  for (std::size_t i = 0; i < kStates; ++i) {
    const bool is_attempt = i == kCommitted || i == kAborted;
    const double part = i == kAborted ? aborted_part : 1 - aborted_part;
    const double share = is_attempt ? part_in_attempts() * part : counts_[i] / samples_;
    const double most = is_attempt ? most_for_attempts(part) : samples_;
    const double found = variance(error_of_share(static_cast<State>(i), aborted_part));
    const double binomial = share * (1 - share);
    result[i] = binomial > 0 && found > 0 ? std::min(most, binomial / found) : most;
  }
  return result;
}

}  // namespace elision::profile
