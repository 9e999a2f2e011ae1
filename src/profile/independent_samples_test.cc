// SPDX-License-Identifier: Apache-2.0
#include "profile/independent_samples.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "profile/share_interval.h"

namespace elision::profile {
namespace {

constexpr auto kSection = static_cast<std::size_t>(State::kSection);

IndependentSamples::Counts look(std::uint64_t in_section, std::uint64_t outside) {
  IndependentSamples::Counts counts{};
  counts[kSection] = in_section;
  counts[0] = outside;
  return counts;
}

TEST(IndependentSamples, WithoutLooksThereAreNone) {
  EXPECT_EQ(IndependentSamples().estimate()[kSection], 0);
  IndependentSamples samples;
  samples.add({});
  EXPECT_EQ(samples.estimate()[kSection], 0);
}

TEST(IndependentSamples, FewLooksCountAsOneEach) {
  IndependentSamples samples;
  for (std::uint64_t i = 0; i < IndependentSamples::kFewestLooks - 1; ++i) samples.add(look(4, 4));
  EXPECT_EQ(samples.estimate()[kSection], IndependentSamples::kFewestLooks - 1.0);
  samples.add(look(4, 4));
  EXPECT_EQ(samples.estimate()[kSection], 8.0 * IndependentSamples::kFewestLooks);
}

TEST(IndependentSamples, SamplesOfOneThreadAreAll) {
  Random random(1);
  IndependentSamples samples;
  for (int i = 0; i < 1000; ++i) random.below(10) < 3 ? samples.add(look(1, 0)) : samples.add(look(0, 1));
  EXPECT_NEAR(samples.estimate()[kSection], 1000, 2);
}

/// All threads of a look are in one state: they know as much as one. Looks at one thread know as much.
TEST(IndependentSamples, ThreadsThatAgreeCountAsOne) {
  Random random(1);
  IndependentSamples samples;
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t threads = 8;
    random.below(2) != 0 ? samples.add(look(threads, 0)) : samples.add(look(0, threads));
  }
  EXPECT_NEAR(samples.estimate()[kSection], 4000, 20);
}

/// One thread of four holds the lock at every moment: surer than independent samples, which is not used.
TEST(IndependentSamples, NeverMoreThanThereAre) {
  IndependentSamples samples;
  for (int i = 0; i < 1000; ++i) samples.add(look(1, 3));
  EXPECT_EQ(samples.estimate()[kSection], 4000);
}

/// Looks at one to eight threads that often are in one state: intervals hold the share that it has in the
/// long run as often as they say. The level of the test is 1e-4.
TEST(IndependentSamples, IntervalsHoldTheShareAsOftenAsTheySay) {
  constexpr int kRuns = 2000, kLooks = 300;
  constexpr double kFewestThatHold = 0.95 - 3.72 * 0.0049;  // 1e-4 of a binomial distribution
  for (const std::uint64_t agree_of_10 : {0u, 5u, 10u})
    for (const std::uint64_t share_of_100 : {50u, 10u}) {
      int holds = 0, holds_if_independent = 0;
      for (std::uint64_t run = 0; run < kRuns; ++run) {
        Random random(run * 77 + agree_of_10);
        const auto is_in_section = [&] { return random.below(100) < share_of_100; };
        IndependentSamples samples;
        double in_section = 0, all = 0;
        for (int i = 0; i < kLooks; ++i) {
          const std::uint64_t threads = 1 + random.below(8);
          const bool agree = random.below(10) < agree_of_10, all_in_section = is_in_section();
          std::uint64_t seen = 0;
          for (std::uint64_t t = 0; t < threads; ++t) seen += agree ? all_in_section : is_in_section();
          samples.add(look(seen, threads - seen));
          in_section += static_cast<double>(seen);
          all += static_cast<double>(threads);
        }
        const double share = static_cast<double>(share_of_100) / 100;
        const auto holds_it = [&](double count) {
          const Bounds interval = interval_of_share(in_section / all, count);
          return interval.low <= share && share <= interval.high;
        };
        holds += holds_it(samples.estimate()[kSection]);
        holds_if_independent += holds_it(all);
      }
      EXPECT_GE(holds, kFewestThatHold * kRuns) << agree_of_10 << " " << share_of_100;
      if (agree_of_10 != 0) {
        EXPECT_LT(holds_if_independent, 0.85 * kRuns) << "the test can fail";
      }
    }
}

}  // namespace
}  // namespace elision::profile
