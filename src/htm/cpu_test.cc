// SPDX-License-Identifier: Apache-2.0
// What the CPU says must agree with what it does.
#include "htm/cpu.h"

#include <cpuid.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <string>

#include "htm/rtm.h"

namespace elision::htm {
namespace {

TEST(Cpu, RtmOnlyIfCpuidShowsIt) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool leaf7 = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0;
  const CpuFeatures features = detect_cpu(false);
  EXPECT_FALSE(features.rtm_is_hidden);
  if (!leaf7 || (ebx >> 11 & 1) == 0) {
    EXPECT_FALSE(features.has_rtm);
    EXPECT_FALSE(features.rtm_always_aborts);
  } else {
    EXPECT_NE(features.has_rtm, features.rtm_always_aborts);
    EXPECT_FALSE(features.has_rtm && (edx >> 11 & 1) != 0);
  }
  EXPECT_TRUE(features.has_rtm || !features.virtual_always_abort);
}

TEST(Cpu, HiddenRtmLeavesACpuWithoutIt) {
  const CpuFeatures shown = detect_cpu(false), hidden = detect_cpu(true);
  const bool shows_rtm = shown.has_rtm || shown.rtm_always_aborts;
  EXPECT_EQ(hidden.rtm_is_hidden, shows_rtm && !shown.virtual_cpu);
  EXPECT_EQ(hidden.has_rtm, shown.has_rtm && shown.virtual_cpu) << "the virtual CPU cannot be hidden";
  EXPECT_FALSE(hidden.rtm_always_aborts && !shown.virtual_cpu);
  EXPECT_EQ(hidden.tsc_khz, shown.tsc_khz);
}

TEST(Cpu, OnlyTheValueOneHides) {
  const char* const given = std::getenv("ELISION_HIDE_RTM");
  const std::string before = given != nullptr ? given : "";
  for (const char* value : {"1", "0", "", "yes", "11"}) {
    setenv("ELISION_HIDE_RTM", value, 1);
    EXPECT_EQ(environment_hides_rtm(), std::string(value) == "1") << value;
  }
  unsetenv("ELISION_HIDE_RTM");
  EXPECT_FALSE(environment_hides_rtm());
  if (given != nullptr) setenv("ELISION_HIDE_RTM", before.c_str(), 1);
}

TEST(Cpu, NestingDepthIsTheDeepestThatCommits) {
  if (!detect_cpu().has_rtm) GTEST_SKIP() << "no live RTM on this CPU";
  const unsigned depth = measure_nesting_depth();
  EXPECT_GE(depth, 1u);
  EXPECT_LE(depth, 64u);
  EXPECT_FALSE(Rtm::in_transaction());
}

TEST(Cpu, EveryTrialTransactionCommitsOrHasCause) {
  if (!detect_cpu().has_rtm) GTEST_SKIP() << "no live RTM on this CPU";
  const Trial trial = try_transactions(500);
  EXPECT_EQ(trial.attempts, 500u);
  EXPECT_GT(trial.commits, 0u);
  EXPECT_EQ(std::accumulate(trial.aborts.begin(), trial.aborts.end(), trial.commits), trial.attempts);
  EXPECT_FALSE(Rtm::in_transaction());
}

TEST(Cpu, PauseTakesSomeTicks) {
  const std::uint32_t ticks = measure_pause_ticks();
  EXPECT_GE(ticks, 1u);
  EXPECT_LT(ticks, 100000u);
}

}  // namespace
}  // namespace elision::htm
