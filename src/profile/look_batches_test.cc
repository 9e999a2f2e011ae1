// SPDX-License-Identifier: Apache-2.0
#include "profile/look_batches.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "profile/share_interval.h"

namespace elision::profile {
namespace {

constexpr auto kSection = static_cast<std::size_t>(State::kSection);

LookBatches::Counts look(std::uint64_t in_section, std::uint64_t outside) {
  LookBatches::Counts counts{};
  counts[kSection] = in_section;
  counts[0] = outside;
  return counts;
}

TEST(LookBatches, WithoutLooksThereAreNoSamples) {
  EXPECT_EQ(LookBatches().independent_samples()[kSection], 0);
  LookBatches batches;
  batches.add({});
  EXPECT_EQ(batches.independent_samples()[kSection], 0);
}

TEST(LookBatches, FewLooksCountAsOneSampleEach) {
  LookBatches batches;
  for (std::size_t i = 0; i < LookBatches::kFewest - 1; ++i) batches.add(look(4, 4));
  EXPECT_EQ(batches.independent_samples()[kSection], LookBatches::kFewest - 1.0);
  batches.add(look(4, 4));
  EXPECT_EQ(batches.independent_samples()[kSection], 8.0 * LookBatches::kFewest);
}

TEST(LookBatches, IndependentSamplesAreNearlyAll) {
  for (const std::uint64_t looks : {100u, 5000u}) {
    Random random(looks);
    LookBatches batches;
    for (std::uint64_t i = 0; i < looks; ++i) batches.add(look(random.below(10) < 3, random.below(10) >= 3));
    const double samples = batches.independent_samples()[kSection];
    EXPECT_GT(samples, 0.5 * static_cast<double>(looks));
  }
}

/// All threads of a look are in one state: they know as much as one.
TEST(LookBatches, ThreadsThatAgreeCountAsOne) {
  Random random(1);
  LookBatches batches;
  for (int i = 0; i < 4000; ++i) random.below(2) != 0 ? batches.add(look(8, 0)) : batches.add(look(0, 8));
  EXPECT_GT(batches.independent_samples()[kSection], 1500);
  EXPECT_LT(batches.independent_samples()[kSection], 8000);
}

/// States that last for many looks: the number of looks tells nothing.
TEST(LookBatches, StatesThatLastCountOnce) {
  const auto samples_of = [](std::uint64_t looks_a_state) {
    Random random(3);
    LookBatches batches;
    for (std::uint64_t state = 0; state < 3000; ++state) {
      const bool in_section = random.below(2) != 0;
      for (std::uint64_t i = 0; i < looks_a_state; ++i) batches.add(look(in_section, !in_section));
    }
    return batches.independent_samples()[kSection];
  };
  for (const std::uint64_t looks : {1u, 10u, 30u}) {
    EXPECT_GT(samples_of(looks), 1000) << looks;
    EXPECT_LT(samples_of(looks), 4000) << looks;
  }
}

/// One thread of four holds the lock at every moment: surer than independent samples, which is not used.
TEST(LookBatches, NeverMoreThanThereAre) {
  LookBatches batches;
  for (int i = 0; i < 1000; ++i) batches.add(look(1, 3));
  EXPECT_EQ(batches.independent_samples()[kSection], 4000);
}

/// A chain that stays in its state with some probability, seen by four threads at once: intervals hold the
/// share that it has in the long run as often as they say. The level of the test is 1e-4.
TEST(LookBatches, IntervalsHoldTheShareAsOftenAsTheySay) {
  constexpr int kRuns = 2000;
  constexpr double kLeastShareSeen =
      0.01;  // the state begins 30 times a run; rarer ones are known too little
  constexpr double kFewestThatHold = 0.95 - 3.72 * 0.0049;  // 1e-4 of a binomial distribution
  for (const double stays : {0.0, 0.5, 0.9, 0.97})
    for (const double share : {0.5, 0.1, 0.02}) {
      if (share * (1 - stays) < kLeastShareSeen) continue;
      int holds = 0, holds_if_independent = 0;
      for (int run = 0; run < kRuns; ++run) {
        Random random(static_cast<std::uint64_t>(run) * 77 + static_cast<std::uint64_t>(stays * 10));
        const auto draw = [&random] { return static_cast<double>(random.below(1u << 30)) / (1u << 30); };
        LookBatches batches;
        bool in_section = draw() < share;
        double seen = 0;
        constexpr int kLooks = 3000;
        for (int i = 0; i < kLooks; ++i) {
          if (draw() >= stays) in_section = draw() < share;
          batches.add(look(in_section ? 4 : 0, in_section ? 0 : 4));
          seen += in_section;
        }
        const auto holds_it = [&](double samples) {
          const ShareInterval interval = interval_of_share(seen / kLooks, samples);
          return interval.low <= share && share <= interval.high;
        };
        holds += holds_it(batches.independent_samples()[kSection]);
        holds_if_independent += holds_it(4.0 * kLooks);
      }
      EXPECT_GE(holds, kFewestThatHold * kRuns) << stays << " " << share;
      EXPECT_LT(holds_if_independent, 0.8 * kRuns) << "the test can fail";
    }
}

}  // namespace
}  // namespace elision::profile
