// SPDX-License-Identifier: Apache-2.0
// Throughput over threads: what it is relative to, and where it stops.
#include "cli/judge/scaling.h"

#include <gtest/gtest.h>

namespace elision::cli::experiment {
namespace {

class ScalingTest : public ::testing::Test {
 protected:
  /// The times of a design, by number of threads; 0: no result.
  void add(const std::string& design, const std::vector<double>& seconds) {
    plan_.designs.push_back(design);
    blocks_.resize(seconds.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      blocks_[i].threads = 1U << i;
      Row row;
      row.design = design;
      row.state = seconds[i] > 0 ? RowState::kGood : RowState::kFailed;
      row.value = {seconds[i], seconds[i], seconds[i]};
      blocks_[i].rows.push_back(row);
    }
  }
  std::optional<Scaling> scaling() const { return scaling_of(plan_, blocks_); }
  std::optional<unsigned> stop(std::size_t curve = 0) const { return scaling()->curves.at(curve).stops_at; }

  Plan plan_;
  std::vector<Block> blocks_;
};

TEST_F(ScalingTest, ThroughputIsRelativeToReferenceWithFewestThreads) {
  add("pthread", {4, 2});
  add("htm-10", {2, 0.5});
  std::swap(blocks_[0], blocks_[1]);
  const auto found = scaling();
  EXPECT_EQ(found->threads, (std::vector<unsigned>{1, 2}));
  EXPECT_EQ(found->curves[0].points[1].relative, 2);
  EXPECT_EQ(found->curves[1].points[0].relative, 2);
  EXPECT_EQ(found->curves[1].points[1].relative, 8);
  EXPECT_EQ(found->curves[1].points[1].throughput.median, 2);
}

TEST_F(ScalingTest, ProgramWithoutLocksHasNone) {
  add("pthread", {4, 2});
  blocks_[0].verdict.kind = VerdictKind::kNoLocks;
  EXPECT_TRUE(scaling()) << "it locks with two threads";
  blocks_[1].verdict.kind = VerdictKind::kNoLocks;
  EXPECT_FALSE(scaling());
}

TEST_F(ScalingTest, MetricIsThroughputUnlessLessIsBetter) {
  plan_.metric = "x";
  EXPECT_EQ(throughput_of(plan_, {4, 2, 8}).high, 8);
  plan_.lower_is_better = true;
  EXPECT_EQ(throughput_of(plan_, {4, 2, 8}).median, 0.25);
  EXPECT_EQ(throughput_of(plan_, {4, 2, 8}).low, 0.125);
  EXPECT_EQ(throughput_of(plan_, {4, 2, 8}).high, 0.5);
}

TEST_F(ScalingTest, StopsWhereNoLargerCountGains) {
  add("pthread", {8, 4, 2, 2, 3});
  EXPECT_EQ(stop(), 4u);
}

TEST_F(ScalingTest, MoreThreadsGainUnderAnyDesign) {
  add("pthread", {4, 5, 3.9});
  EXPECT_FALSE(scaling()->more_threads_gain);
  add("tatas", {2, 5, 6});
  EXPECT_FALSE(scaling()->more_threads_gain) << "faster, but with as many threads";
  add("htm-10", {5, 3, 9});
  EXPECT_TRUE(scaling()->more_threads_gain);
}

TEST_F(ScalingTest, DipDoesNotEndTheCurve) {
  add("pthread", {4, 5, 2, 1});
  EXPECT_EQ(stop(), std::nullopt);
}

TEST_F(ScalingTest, NeverScaling) {
  add("pthread", {1, 2, 3});
  EXPECT_EQ(stop(), 1u);
}

TEST_F(ScalingTest, SmallGainsDoNotCount) {
  add("pthread", {1.0, 0.96});
  EXPECT_EQ(stop(), 1u);
  blocks_.clear();
  add("pthread", {1.0, 0.9});
  EXPECT_EQ(stop(), std::nullopt);
}

TEST_F(ScalingTest, GainsThatTheRunsDoNotShowDoNotCount) {
  add("pthread", {1.0, 0.9});
  blocks_[0].rows[0].values = {0.9, 1.0, 1.1};
  blocks_[1].rows[0].values = {0.99, 0.81, 0.9};
  EXPECT_EQ(stop(), 1u);
}

TEST_F(ScalingTest, GainOfEveryRunCountsThoughTheirRangesOverlap) {
  add("pthread", {1.1, 0.99});
  blocks_[0].rows[0].values = {1.0, 1.1, std::nullopt, 1.2};
  blocks_[1].rows[0].values = {0.9, 0.99, 5.0, 1.08};
  EXPECT_EQ(stop(), std::nullopt);
}

TEST_F(ScalingTest, CountsWithoutResultAreSkipped) {
  add("pthread", {4, 2, 1});
  add("tatas", {4, 0, 1});
  add("ticket", {0, 0, 0});
  const auto found = scaling();
  ASSERT_EQ(found->curves.size(), 2u);
  EXPECT_EQ(found->curves[1].points.size(), 2u);
  EXPECT_EQ(found->curves[1].stops_at, std::nullopt);
}

TEST_F(ScalingTest, NothingWithoutReferenceOrWithOneCount) {
  add("pthread", {0, 2});
  add("tatas", {1, 1});
  EXPECT_FALSE(scaling());
  blocks_.clear();
  add("pthread", {1});
  EXPECT_FALSE(scaling());
}

}  // namespace
}  // namespace elision::cli::experiment
