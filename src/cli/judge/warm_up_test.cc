// SPDX-License-Identifier: Apache-2.0
// Cold rounds are found, and hardly ever where there are none.
#include "cli/judge/warm_up.h"

#include <gtest/gtest.h>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>

namespace elision::cli::experiment {
namespace {

constexpr double kGain = 1.03;

TEST(ColdRounds, SlowFirstRunIsCold) {
  EXPECT_EQ(cold_rounds({{1.5, 1, 1.01, 0.99, 1}, {2, 2, 2, 2, 2}}, 2, kGain), 1u);
}

TEST(ColdRounds, SlowFirstRunsAreCold) {
  EXPECT_EQ(cold_rounds({{1.6, 1.5, 1, 1.01, 0.99, 1}}, 2, kGain), 2u);
  EXPECT_EQ(cold_rounds({{1.6, 1.5, 1, 1.01, 0.99, 1}}, 1, kGain), 0u) << "no more than asked for";
}

TEST(ColdRounds, SlowRoundAfterAFastOneIsADisturbance) {
  EXPECT_EQ(cold_rounds({{1, 1.5, 1, 1.01, 0.99, 1}}, 2, kGain), 0u);
  EXPECT_EQ(cold_rounds({{1, 1, 1, 1.5, 1, 1.01, 0.99, 1}}, 2, kGain), 0u);
}

TEST(ColdRounds, FastFirstRunIsNotCold) { EXPECT_EQ(cold_rounds({{0.5, 1, 1.01, 0.99, 1}}, 2, kGain), 0u); }

TEST(ColdRounds, DifferenceBelowTheSmallestGainDoesNotCount) {
  EXPECT_EQ(cold_rounds({{1.02, 1, 1, 1, 1}}, 2, kGain), 0u);
}

TEST(ColdRounds, FewRoundsShowNothing) { EXPECT_EQ(cold_rounds({{1.5, 1, 1, 1}}, 2, kGain), 0u); }

TEST(ColdRounds, MissingRunsAreSkipped) {
  EXPECT_EQ(cold_rounds({{std::nullopt, 1, 1, 1, 1, 1}, {1.5, 1, std::nullopt, 1, 1, 1}}, 2, kGain), 1u);
  EXPECT_EQ(cold_rounds({{1.5, 1, std::nullopt, 1, 1}}, 2, kGain), 0u);
}

/// Of so many comparisons of 7 designs, those with cold rounds. The first run takes longer by `factor`.
int found(double noise, double factor) {
  constexpr int kComparisons = 400;
  boost::random::mt19937 random(1);
  boost::random::normal_distribution<double> normal(0, noise);
  int count = 0;
  for (int i = 0; i < kComparisons; ++i) {
    std::vector<Costs> designs(7, Costs(5));
    for (Costs& costs : designs)
      for (auto& cost : costs) cost = std::exp(normal(random));
    *designs.front().front() *= factor;
    if (cold_rounds(designs, 2, kGain) > 0) ++count;
  }
  return count;
}

TEST(ColdRounds, AreRarelyFoundInNoise) {
  for (const double noise : {0.005, 0.03, 0.2}) EXPECT_LT(found(noise, 1), 40) << noise;
}

TEST(ColdRounds, AreFoundAboveNoise) {
  EXPECT_GT(found(0.01, 1.2), 390);
  EXPECT_GT(found(0.03, 1.5), 380);
}

}  // namespace
}  // namespace elision::cli::experiment
