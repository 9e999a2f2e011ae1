// SPDX-License-Identifier: Apache-2.0
// The estimate of the rest goes by the runs that are most like it.
#include "cli/experiment/remaining_time.h"

#include <gtest/gtest.h>

namespace elision::cli::experiment {
namespace {

const Cell kFew{1, "pthread"}, kMany{8, "pthread"}, kOther{8, "htm-10"};

TEST(RemainingTime, WithoutAnyRunNothingIsKnown) {
  RemainingTime remaining;
  remaining.add(kFew);
  EXPECT_EQ(remaining.seconds_left(), 0);
}

TEST(RemainingTime, GoesByTheDesignThenByTheThreadsThenByFewerThreads) {
  RemainingTime remaining;
  for (const Cell& cell : {kFew, kFew, kMany, kOther}) remaining.add(cell);
  remaining.end(kFew, 2);
  EXPECT_DOUBLE_EQ(remaining.expected_seconds(kOther), 16) << "each thread brings work of its own";
  EXPECT_DOUBLE_EQ(remaining.seconds_left(), 2 + 16 + 16);
  remaining.end(kMany, 10);
  EXPECT_DOUBLE_EQ(remaining.expected_seconds(kOther), 10) << "the runs with as many threads";
  EXPECT_DOUBLE_EQ(remaining.seconds_left(), 2 + 10);
  remaining.end(kOther, 30);
  EXPECT_DOUBLE_EQ(remaining.expected_seconds(kOther), 30) << "the runs of the design";
  EXPECT_DOUBLE_EQ(remaining.expected_seconds(kMany), 10);
  EXPECT_DOUBLE_EQ(remaining.seconds_left(), 2);
}

TEST(RemainingTime, FewerThreadsThanRanTakeAsLongAsTheFewestThatRan) {
  RemainingTime remaining;
  for (const Cell& cell : {kFew, kMany, Cell{16, "pthread"}}) remaining.add(cell);
  remaining.end(kMany, 10);
  EXPECT_DOUBLE_EQ(remaining.expected_seconds(kFew), 10);
  EXPECT_DOUBLE_EQ(remaining.expected_seconds(Cell{16, "pthread"}), 20);
}

TEST(RemainingTime, RunsLeftOutTakeNoTime) {
  RemainingTime remaining;
  for (const Cell& cell : {kFew, kFew}) remaining.add(cell);
  remaining.end(kFew, 2);
  remaining.leave_out(kFew);
  EXPECT_EQ(remaining.seconds_left(), 0);
}

}  // namespace
}  // namespace elision::cli::experiment
