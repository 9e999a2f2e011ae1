// SPDX-License-Identifier: Apache-2.0
// The cost of a mispredicted branch (the probe "branches"): branches [BRANCHES].
//
// The same loop with a branch on a random bit, half of which no predictor foresees, and on a bit that is
// always zero. The difference, twice, is the cost of one misprediction in ticks. Means over stretches of the
// loop, without those that were interrupted.
#include "experiment.h"

namespace {

constexpr std::uint64_t kStretch = 1000;

/// Ticks of a round of the loop. The branch is on the highest bit of a generator's number, less those bits
/// that `mask` lacks.
[[gnu::noinline]] double ticks_a_branch(std::uint64_t mask, std::uint64_t branches) {
  std::uint64_t state = 12345;
  std::vector<std::uint64_t> spent(branches / kStretch + 1);
  for (auto& each : spent) {
    const std::uint64_t before = probe::ticks();
    for (std::uint64_t i = 0; i < kStretch; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      asm volatile("testq %0, %0\njs 1f\nnop\n1:" : : "r"(state & mask) : "cc");
    }
    each = probe::ticks() - before;
  }
  return (probe::trimmed_mean(spent) - probe::clock_mean()) / kStretch;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t branches = probe::count_argument(argc, argv, 2000000);
  probe::pin_to(0);
  (void)ticks_a_branch(0, branches / 10);
  const double predicted = ticks_a_branch(0, branches);
  (void)ticks_a_branch(~std::uint64_t{0}, branches / 10);
  const double random = ticks_a_branch(~std::uint64_t{0}, branches);
  probe::print("predicted_ticks", predicted);
  probe::print("misprediction_ticks", 2 * (random - predicted));
  return 0;
}
