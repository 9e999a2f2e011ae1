// SPDX-License-Identifier: Apache-2.0
// What fits into a budget, with a runner that runs nothing and says how long that took.
#include "cli/experiment/part.h"

#include <gtest/gtest.h>

namespace elision::cli::experiment {
namespace {

class Clock final : public Runner {
 public:
  explicit Clock(const Plan& plan) : plan_(plan) {}
  unsigned workers() const override { return 2; }
  bool cancelled() const override { return false; }
  Sample run(const Cell& cell, double timeout_seconds) override {
    EXPECT_EQ(cell.design, kReference);
    EXPECT_EQ(cell.threads, 8u) << "the most";
    ++runs;
    Sample sample;
    sample.host_seconds = plan_.samples() ? window_seconds : whole_seconds;
    if (sample.host_seconds > timeout_seconds) sample.outcome = Outcome::kTimedOut;
    if (!plan_.samples()) allowed = timeout_seconds;
    return sample;
  }

  double whole_seconds = 4, window_seconds = 1, allowed = 0;
  unsigned runs = 0;

 private:
  const Plan& plan_;
};

class Nobody final : public Observer {
 public:
  void estimate(const Outlook&, unsigned) override {}
  void progress(const Outlook&) override {}
};

constexpr std::uint64_t kLength = 1'000'000;

class Budget : public testing::Test {
 protected:
  Budget() {
    plan_.model = true;
    plan_.designs = {"pthread", "tatas", "htm-10"};
    plan_.thread_counts = {2u, 8u};
    plan_.budget_seconds = 60;  // 120 s of two workers for 6 runs a round: 20 rounds of one second
  }
  Fit fit() { return fit_into_budget(plan_, seen_, kLength, clock_, nobody_); }
  std::size_t windows() const {
    return plan_.windows.options.contains(8u) ? plan_.windows.options.at(8u).size() : 0;
  }

  Plan plan_;
  std::vector<Preview> seen_ = {{1000, 900'000'000, 1}, {2000, 900'000'000, 2}};
  Clock clock_{plan_};
  Nobody nobody_;
};

TEST_F(Budget, WholeRunsIfTheFirstRoundsOfThemFit) {
  clock_.whole_seconds = 6.6;
  EXPECT_EQ(fit().windows, 0u);
  EXPECT_NEAR(clock_.allowed, 120.0 / 18, 1e-9) << "three rounds";
  EXPECT_TRUE(plan_.launch.from_second_thread);
  EXPECT_FALSE(plan_.samples());
}

TEST_F(Budget, AsManyWindowsAsFitIfNot) {
  clock_.whole_seconds = 6.7;
  const Fit found = fit();
  EXPECT_EQ(found.windows, 20u);
  EXPECT_TRUE(found.fits);
  EXPECT_EQ(windows(), 20u);
  EXPECT_EQ(plan_.windows.options.at(2u).size(), 20u);
  EXPECT_EQ(plan_.windows.length_ns, kLength);
  EXPECT_FALSE(plan_.launch.from_second_thread);
  EXPECT_TRUE(plan_.launch.vm_words.empty());
}

TEST_F(Budget, WholeRunsThatCannotFitAreNotTried) {
  seen_[0].host_seconds = 2.3;
  fit();
  EXPECT_EQ(clock_.runs, 1u);
  EXPECT_EQ(clock_.allowed, 0);
  EXPECT_TRUE(plan_.samples());
}

TEST_F(Budget, DesignsThatAreNotRunTakeNoTime) {
  clock_.whole_seconds = 100;
  plan_.not_run["htm-10"] = "needs transactions";
  clock_.window_seconds = 2;
  EXPECT_EQ(fit().windows, 15u);
}

TEST_F(Budget, FewestAndMostWindows) {
  clock_.whole_seconds = 100;
  clock_.window_seconds = 7;
  EXPECT_EQ(fit().windows, kFewestWindows);
  plan_.windows = {};
  EXPECT_FALSE(fit().fits);
  plan_.windows = {};
  clock_.window_seconds = 0.1;
  EXPECT_EQ(fit().windows, kMostWindows);
}

}  // namespace
}  // namespace elision::cli::experiment
