// SPDX-License-Identifier: Apache-2.0
#include "profile/independent_samples.h"

#include <algorithm>
#include <numeric>

#include "profile/share_interval.h"

namespace elision::profile {
namespace {

constexpr auto kCommitted = static_cast<std::size_t>(State::kAttempt);
constexpr auto kAborted = static_cast<std::size_t>(State::kAborted);

bool is_attempt(std::size_t state) { return state == kCommitted || state == kAborted; }

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
double IndependentSamples::attempts() const { return attempts_known() + counts_[kUnknown]; }

/// The error of a state's share to which a look adds this much for each thread that it sees of a kind.
IndependentSamples::Kinds IndependentSamples::error_of_share(State state) const {
  Kinds weights{};
  const auto is_state = static_cast<std::size_t>(state);
  if (!is_attempt(is_state) || attempts_known() == 0) {
    weights.fill(-counts_[is_state] / samples_ / samples_);
    weights[is_state] += 1 / samples_;
    return weights;
  }
  // The share is `part` of all attempts.
  const double part = counts_[is_state] / attempts_known(), in_attempts = attempts() / samples_;
  weights.fill(-part * in_attempts / samples_);
  for (const std::size_t kind : {kCommitted, kAborted, kUnknown}) weights[kind] += part / samples_;
  for (const std::size_t kind : {kCommitted, kAborted})
    weights[kind] += in_attempts * ((kind == is_state ? 1 : 0) - part) / attempts_known();
  return weights;
}

/// Of an error to which each look adds weights times what it saw.
double IndependentSamples::variance(const Kinds& weights) const {
  double sum = 0;
  for (std::size_t i = 0; i < kKinds; ++i)
    for (std::size_t j = 0; j < kKinds; ++j) sum += weights[i] * weights[j] * products_[i][j];
  return sum * looks_ / (looks_ - 1);
}

/// As many samples as there are, or fewer if it is known of few attempts how they ended: as many as would
/// tell the share as surely, were all samples independent of each other. The part that aborts is the centre
/// of Wilson's interval: from few attempts that all end alike a variance of 0 would follow.
double IndependentSamples::most_for_attempts(State state, const std::vector<Attempts>& by_lock) const {
  constexpr double kSquare = kShareDeviations * kShareDeviations;
  double share = 0, of_locks = 0, of_outcomes = 0;
  for (const Attempts& lock : by_lock) {
    const double in_lock = (lock.committed + lock.aborted + lock.unknown) / samples_;
    const double known = lock.committed + lock.aborted;
    const double seen = state == State::kAborted ? lock.aborted : lock.committed;
    const double part = (seen + kSquare / 2) / (known + kSquare);
    share += in_lock * part;
    of_locks += in_lock * part * part;
    of_outcomes += in_lock * in_lock * part * (1 - part) / std::max(known, 1.0);
  }
  const double of_share = (of_locks - share * share) / samples_ + of_outcomes;
  return of_share > 0 ? std::min(samples_, share * (1 - share) / of_share) : samples_;
}

std::array<double, kStates> IndependentSamples::estimate(const std::vector<Attempts>& by_lock) const {
  std::array<double, kStates> result{};
  result.fill(std::min(looks_, samples_));
  if (looks_ < static_cast<double>(kFewestLooks)) return result;
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    const bool divided = is_attempt(i) && attempts_known() > 0;
    const double share = (divided ? counts_[i] / attempts_known() * attempts() : counts_[i]) / samples_;
    const double most = is_attempt(i) ? most_for_attempts(state, by_lock) : samples_;
    const double found = variance(error_of_share(state));
    const double binomial = share * (1 - share);
    result[i] = binomial > 0 && found > 0 ? std::min(most, binomial / found) : most;
  }
  return result;
}

}  // namespace elision::profile
