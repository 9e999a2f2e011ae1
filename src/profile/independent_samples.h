// SPDX-License-Identifier: Apache-2.0
// How many samples are as good as independent. Looks come at random moments, so what one sees of a run does
// not depend on what others see. But a look sees several threads at one moment, and these may be alike: all
// in a phase of the program, or one that holds a lock while the others wait. So a share is less sure than as
// many independent samples would make it. How much less shows in how looks differ from each other: each is a
// cluster of samples (Cochran, Sampling Techniques, 3rd edition, section 9A.1, for a ratio).
//
// Of some attempts no look tells whether they aborted. Those of a lock are divided as its others are
// (lock_profile.h), so the shares of committed and aborted attempts are as sure as few known ones make them.
// Such a share is a sum over locks of two ratios: the lock's attempts in all samples, and those of a kind in
// its known attempts. Were samples independent, its variance would be that of both, to first order. How alike
// the threads of a look are is estimated from all locks together. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace elision::profile {

class IndependentSamples {
 public:
  /// What a look saw.
  struct Look {
    std::array<std::uint64_t, kStates> known{};  // threads in each state
    std::uint64_t attempts_unknown = 0;          // in attempts of which it does not know whether they aborted
  };
  static constexpr std::uint64_t kFewestLooks = 16;

  /// A look that saw no threads does not count.
  void add(const Look& look);

  /// What all looks together saw of attempts at a lock.
  struct Attempts {
    double committed = 0, aborted = 0, unknown = 0;
  };

  /// For each state: independent samples from which its share in the run would be as sure. At most the
  /// number of samples, even if a share is surer than that. Fewer than kFewestLooks looks do not tell,
  /// and each counts as one sample. `by_lock`: the attempts that were added, of each lock.
  std::array<double, kStates> estimate(const std::vector<Attempts>& by_lock) const;

 private:
  static constexpr std::size_t kUnknown = kStates, kKinds = kStates + 1;
  using Kinds = std::array<double, kKinds>;  // the known states, and the attempts that are not known

  double attempts_known() const;
  double attempts() const;
  Kinds error_of_share(State state) const;
  double variance(const Kinds& weights) const;
  double most_for_attempts(State state, const std::vector<Attempts>& by_lock) const;

  double looks_ = 0, samples_ = 0;
  Kinds counts_{};                        // of threads, over looks
  std::array<Kinds, kKinds> products_{};  // of two counts of a look, over looks
};

}  // namespace elision::profile
