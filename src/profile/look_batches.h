// SPDX-License-Identifier: Apache-2.0
// How many samples are as good as independent. A look sees several threads at one moment, and the next look
// may come before their states change, so a share is less sure than as many independent samples would make
// it. How much less shows in batches of looks one after the other: the shares of independent samples differ
// between batches by chance alone. Pure.
//
// The method is that of batch means (Law, Simulation Modeling and Analysis, 5th edition, section 9.5.3) for a
// ratio, with as many batches as kFewest to kMost: longer runs have longer batches, not more. Batches that
// follow each other may still depend on each other, which is added where it makes the share less sure. States
// that last for a large part of the run, more than two batches, still look surer than they are, and so do
// those that the looks meet fewer than some ten times.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace elision::profile {

class LookBatches {
 public:
  using Counts = std::array<std::uint64_t, kStates>;
  static constexpr std::size_t kFewest = 16, kMost = 32;

  /// A look that saw so many threads in each state; none: it does not count.
  void add(const Counts& seen);

  /// For each state: independent samples from which its share would be as sure. At most the samples there
  /// are. Fewer than kFewest looks do not tell, and each counts as one sample.
  std::array<double, kStates> independent_samples() const;

 private:
  std::vector<Counts> batches_;  // complete ones, but for the last
  std::uint64_t looks_in_last_ = 0, looks_per_batch_ = 1, looks_ = 0;
};

}  // namespace elision::profile
