// SPDX-License-Identifier: Apache-2.0
#include "cli/host/cpu_use.h"

#include <gtest/gtest.h>

namespace elision::cli {
namespace {

bool every(unsigned) { return true; }

constexpr const char* kStat =
    "cpu  500 0 100 2000 0 0 0 0 0 0\n"
    "cpu0 100 10 20 300 40 5 6 7 8 9\n"
    "cpu1 200 0 0 600 0 0 0 0 0 0\n"
    "intr 12345 0 9\n"
    "ctxt 4711\n";

TEST(CpuTime, StolenTimeIsBusyAndWaitingForDisksIsNot) {
  const auto time = cpu_time(kStat, 100, [](unsigned cpu) { return cpu == 0; });
  ASSERT_TRUE(time);
  EXPECT_DOUBLE_EQ(time->busy, 1.48);
  EXPECT_DOUBLE_EQ(time->all, 4.88);
}

TEST(CpuTime, LineOfAllCpusIsNotCounted) {
  const auto time = cpu_time(kStat, 100, every);
  ASSERT_TRUE(time);
  EXPECT_DOUBLE_EQ(time->busy, 3.48);
}

TEST(CpuTime, TextWithoutTheCpusSaysNothing) {
  EXPECT_FALSE(cpu_time(kStat, 100, [](unsigned) { return false; }));
  EXPECT_FALSE(cpu_time("", 100, every));
  EXPECT_FALSE(cpu_time("cpu0 1 2\ncpux 1 2 3 4 5 6 7 8\n", 100, every));
}

TEST(OtherWork, OwnWorkIsNotCounted) {
  EXPECT_DOUBLE_EQ(other_work({10, 100}, {16, 120}, 4).share, 0.1);
  EXPECT_DOUBLE_EQ(other_work({10, 100}, {16, 120}, 4).seconds, 2);
}

TEST(OtherWork, RoundedTimesGiveNoImpossibleShare) {
  EXPECT_DOUBLE_EQ(other_work({10, 100}, {10, 100}, 1).share, 0) << "no time passed";
  EXPECT_DOUBLE_EQ(other_work({10, 100}, {11, 120}, 2).share, 0);
  EXPECT_DOUBLE_EQ(other_work({10, 100}, {30, 110}, 0).share, 1);
}

TEST(OtherWork, DisturbsFromATenthAndASecondOn) {
  EXPECT_TRUE((OtherWork{0.1, 1}.disturbs()));
  EXPECT_FALSE((OtherWork{0.09, 5}.disturbs()));
  EXPECT_FALSE((OtherWork{0.5, 0.9}.disturbs())) << "the kernel's clock ticks are coarse";
}

}  // namespace
}  // namespace elision::cli
