// SPDX-License-Identifier: Apache-2.0
// How many samples are as good as independent. Looks come at random moments, so what one sees of a run does
// not depend on what others see. But a look sees several threads at one moment, and these may be alike: all
// in a phase of the program, or one that holds a lock while the others wait. So a share is less sure than as
// many independent samples would make it. How much less shows in how looks differ from each other: each is a
// cluster of samples (Cochran, Sampling Techniques, 3rd edition, section 9A.1, for a ratio). Pure.
#pragma once

#include <array>
#include <cstdint>

#include "profile/profile.h"

namespace elision::profile {

class IndependentSamples {
 public:
  using Counts = std::array<std::uint64_t, kStates>;
  static constexpr std::uint64_t kFewestLooks = 16;

  /// A look that saw so many threads in each state; none: it does not count.
  void add(const Counts& seen);

  /// For each state: independent samples from which its share in the run would be as sure. At most the
  /// number of samples, even if a share is surer than that. Fewer than kFewestLooks looks do not tell,
  /// and each counts as one sample.
  std::array<double, kStates> estimate() const;

 private:
  using Sums = std::array<double, kStates>;

  double looks_ = 0, samples_ = 0, squares_of_samples_ = 0;  // over looks: number, threads, their squares
  Sums counts_{}, squares_{}, products_{};  // threads in the state, their squares, those times all threads
};

}  // namespace elision::profile
