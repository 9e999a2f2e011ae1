// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/trial.h"

#include <gtest/gtest.h>

#include <csignal>

#include "cli/doctor/cpu_facts.h"

namespace elision::cli::doctor {
namespace {

TEST(Trial, BeginsNothingWithoutRtm) {
  const TrialFacts facts = try_transactions(CpuFacts{}, 100);
  EXPECT_EQ(facts.counts.attempts, 0u);
  EXPECT_EQ(facts.nesting_depth, 0u);
  EXPECT_FALSE(facts.illegal_instruction);
}

TEST(Trial, IllegalInstructionsAreAFact) {
  struct sigaction before {
  }, after{};
  sigaction(SIGILL, nullptr, &before);
  EXPECT_FALSE(runs_legally([] { asm volatile("ud2"); }));
  EXPECT_FALSE(runs_legally([] { asm volatile("ud2"); })) << "the signal stayed blocked";
  bool ran = false;
  EXPECT_TRUE(runs_legally([&] { ran = true; }));
  EXPECT_TRUE(ran);
  sigaction(SIGILL, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(Trial, AgreesWithTheLibrary) {
  const CpuFacts cpu = read_cpu(native_cpuid);
  const TrialFacts facts = try_transactions(cpu, 1000);
  EXPECT_EQ(facts.counts.commits > 0 && !cpu.rtm_always_abort, htm::detect_cpu(false).has_rtm);
  EXPECT_EQ(facts.counts.attempts, cpu.rtm ? 1000u : 0u);
  EXPECT_EQ(facts.nesting_depth > 0, facts.counts.commits > 0);
}

}  // namespace
}  // namespace elision::cli::doctor
