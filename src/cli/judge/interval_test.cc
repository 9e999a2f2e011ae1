// SPDX-License-Identifier: Apache-2.0
// Intervals of ratios: known values, and how often they cover the truth in simulated comparisons.
#include "cli/judge/interval.h"

#include <gtest/gtest.h>

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/student_t_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <cmath>
#include <functional>

namespace elision::cli::experiment {
namespace {

TEST(Interval, NeedsTwoRatios) {
  EXPECT_FALSE(interval_of({}));
  EXPECT_FALSE(interval_of({2.0}));
  EXPECT_TRUE(interval_of({2.0, 2.1}));
}

TEST(Interval, EqualRatiosAreCertain) {
  EXPECT_EQ(interval_of({1, 1, 1}), (Interval{1, 1, 1}));
  EXPECT_EQ(interval_of(std::vector<double>(12, 1.0)), (Interval{1, 1, 1}));
}

TEST(Interval, OfFewRatiosIsStudents) {
  // Logarithms 0.1, 0.2, 0.3: mean 0.2, standard error 0.1 / sqrt(3), quantile 4.302653 with two degrees of
  // freedom.
  const auto interval = interval_of({std::exp(0.2), std::exp(0.1), std::exp(0.3)});
  ASSERT_TRUE(interval);
  EXPECT_NEAR(std::log(interval->ratio), 0.2, 1e-12);
  EXPECT_NEAR(std::log(interval->low), 0.2 - 4.302653 * 0.1 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(std::log(interval->high), 0.2 + 4.302653 * 0.1 / std::sqrt(3.0), 1e-6);
}

TEST(Interval, OfInversesIsTheInverse) {
  for (const std::size_t count : {3, 10}) {
    std::vector<double> ratios, inverses;
    for (std::size_t i = 0; i < count; ++i) {
      ratios.push_back(1.5 + 0.01 * static_cast<double>(i * i));
      inverses.push_back(1 / ratios.back());
    }
    const auto interval = interval_of(ratios), inverse = interval_of(inverses);
    EXPECT_NEAR(interval->ratio * inverse->ratio, 1, 1e-12);
    EXPECT_NEAR(interval->low * inverse->high, 1, 0.01);  // of the bootstrap: other resamples
    EXPECT_NEAR(interval->high * inverse->low, 1, 0.01);
  }
}

TEST(Interval, ManyEqualRatiosAndOneDisturbedRoundAreCertain) {
  std::vector<double> ratios(9, 1.5);
  ratios.push_back(30);
  EXPECT_NEAR(interval_of(ratios)->ratio, 1.5, 1e-12);
  EXPECT_NEAR(interval_of(ratios)->high, 1.5, 1e-12);
}

TEST(Interval, DisturbedRoundsHardlyMoveIt) {
  std::vector<double> ratios;
  for (int i = 0; i < 20; ++i) ratios.push_back(1.5 + 0.001 * i);
  const Interval quiet = *interval_of(ratios);
  ratios[3] = 9;
  ratios[11] = 7;
  const Interval disturbed = *interval_of(ratios);
  EXPECT_NEAR(disturbed.ratio, quiet.ratio, 0.01);
  EXPECT_LT(disturbed.high - disturbed.low, 3 * (quiet.high - quiet.low));
}

TEST(Interval, OfTwoGroupsLiesBetweenThem) {
  const auto found = interval_of({0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 2.0, 2.0, 2.0, 2.01});
  ASSERT_TRUE(found);
  EXPECT_GE(found->low, 0.1 * (1 - 1e-9));
  EXPECT_LE(found->high, 2.01 * (1 + 1e-9));
  EXPECT_GT(found->high / found->low, 5);
}

TEST(Interval, MoreRoundsMakeItNarrower) {
  const auto width = [](std::size_t count) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < count; ++i) ratios.push_back(1 + 0.01 * static_cast<double>(i % 4));
    const Interval interval = *interval_of(ratios);
    return interval.high - interval.low;
  };
  EXPECT_GT(width(4), width(8));
  EXPECT_GT(width(8), width(16));
  EXPECT_GT(width(16), width(32));
}

TEST(IntervalOfSums, NeedsTwoWindows) {
  EXPECT_FALSE(interval_of_sums({}));
  EXPECT_FALSE(interval_of_sums({{2, 1}}));
  EXPECT_TRUE(interval_of_sums({{2, 1}, {3, 1}}));
}

TEST(IntervalOfSums, IsThatOfTheWholeRun) {
  // The second design is as fast in nine windows and takes ten times as long in one. The mean of ratios would
  // be 0.79, the trimmed one 1.
  std::vector<TimesOfWindow> windows(9, {1, 1});
  windows.push_back({1, 10});
  const Interval found = *interval_of_sums(windows);
  EXPECT_NEAR(found.ratio, 10.0 / 19, 1e-12);
  EXPECT_GE(found.low, 0.1 * (1 - 1e-9));
  EXPECT_LE(found.high, 1 + 1e-9);
}

TEST(IntervalOfSums, OfFewWindowsIsStudents) {
  // Sums 6 and 3. Differences from the mean, as shares of it: (0.5, 1, 1.5) less (1, 1, 1).
  const Interval found = *interval_of_sums({{1, 1}, {2, 1}, {3, 1}});
  EXPECT_NEAR(found.ratio, 2, 1e-12);
  EXPECT_NEAR(std::log(found.high / found.ratio), 4.302653 * 0.5 / std::sqrt(3.0), 1e-6);
}

TEST(IntervalOfSums, PairsOfEqualRatiosAreCertain) {
  std::vector<TimesOfWindow> windows;
  for (int i = 1; i <= 12; ++i) windows.push_back({1.5 * i, 1.0 * i});
  const Interval found = *interval_of_sums(windows);
  EXPECT_NEAR(found.low, 1.5, 1e-9);
  EXPECT_NEAR(found.high, 1.5, 1e-9);
}

/// The time of a run that would take 1 second without noise, as a logarithm.
struct Noise {
  const char* name;
  std::function<double(boost::random::mt19937&)> draw;
};

const Noise kNoises[] = {
    {"lognormal times",
     [](auto& random) { return boost::random::normal_distribution<double>(0, 0.05)(random); }},
    {"normal times",
     [](auto& random) {
       return std::log(std::max(0.01, 1 + boost::random::normal_distribution<double>(0, 0.1)(random)));
     }},
    {"times with an exponential delay",
     [](auto& random) { return std::log(1 + boost::random::exponential_distribution<double>(10)(random)); }},
    {"heavy-tailed times",  // Student's t with two degrees of freedom has no variance
     [](auto& random) { return 0.02 * boost::random::student_t_distribution<double>(2)(random); }},
    {"one run in ten disturbed",
     [](auto& random) {
       const bool disturbed = boost::random::uniform_01<double>()(random) < 0.1;
       const double noise = boost::random::normal_distribution<double>(0, 0.02)(random);
       return noise + (disturbed ? boost::random::exponential_distribution<double>(3)(random) : 0);
     }},
};

constexpr double kTruth = 1.4;

/// How many of `trials` simulated comparisons of `rounds` rounds have the truth in their interval.
double coverage(const Noise& noise, std::size_t rounds, int trials) {
  boost::random::mt19937 random(static_cast<std::uint32_t>(rounds));
  int covered = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < rounds; ++i) {
      const double reference = noise.draw(random), design = noise.draw(random);
      ratios.push_back(kTruth * std::exp(reference - design));
    }
    const Interval interval = *interval_of(ratios);
    covered += interval.low <= kTruth && kTruth <= interval.high ? 1 : 0;
  }
  return static_cast<double>(covered) / trials;
}

/// The same for windows of a program with phases: one in ten takes five times as long, in which the second
/// design is half as fast.
double coverage_of_sums(std::size_t count, int trials) {
  constexpr double kTruthOfSums = (0.9 + 0.1 * 5) / (0.9 / kTruth + 0.1 * 5 * 2 / kTruth);
  boost::random::mt19937 random(static_cast<std::uint32_t>(count));
  int covered = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<TimesOfWindow> windows;
    for (std::size_t i = 0; i < count; ++i) {
      const bool slow = boost::random::uniform_01<double>()(random) < 0.1;
      const double work = slow ? 5 : 1;
      const auto noise = [&random] { return 1 + 0.05 * boost::random::uniform_01<double>()(random) - 0.025; };
      windows.push_back({work * noise(), work * (slow ? 2 : 1) / kTruth * noise()});
    }
    const Interval interval = *interval_of_sums(windows);
    covered += interval.low <= kTruthOfSums && kTruthOfSums <= interval.high ? 1 : 0;
  }
  return static_cast<double>(covered) / trials;
}

// Of few windows, none may lie in a phase.
TEST(IntervalOfSums, CoversTheTruth) {
  EXPECT_GE(coverage_of_sums(30, 400), 0.85);
  EXPECT_GE(coverage_of_sums(100, 200), 0.9);
}

class Coverage : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Coverage, IsNearTheConfidence) {
  const int trials = GetParam() < kFewestForBootstrap ? 4000 : 400;
  for (const Noise& noise : kNoises) {
    const double share = coverage(noise, GetParam(), trials);
    RecordProperty(noise.name, std::to_string(share));
    EXPECT_GE(share, 0.90) << noise.name;
    EXPECT_LE(share, 0.98) << noise.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Rounds, Coverage, ::testing::Values(3, 4, 5, 6, 7, 8, 10, 12));

TEST(RatioText, HasTwoDigitsThatSaySomething) {
  EXPECT_EQ(ratio_text(12.345), "12.35");
  EXPECT_EQ(ratio_text(1), "1.00");
  EXPECT_EQ(ratio_text(0.1), "0.10");
  EXPECT_EQ(ratio_text(0.0996), "0.10");
  EXPECT_EQ(ratio_text(0.0994), "0.099");
  EXPECT_EQ(ratio_text(0.034), "0.034");
  EXPECT_EQ(ratio_text(0.00123), "0.0012");
  EXPECT_EQ(ratio_text(0), "0.00");
}

}  // namespace
}  // namespace elision::cli::experiment
