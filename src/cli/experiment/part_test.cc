// SPDX-License-Identifier: Apache-2.0
// What fits into a budget, with a runner that runs nothing and says how long that took.
#include "cli/experiment/part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cli/experiment/runner_for_test.h"

namespace elision::cli::experiment {
namespace {

class Clock final : public CellRunner {
 public:
  explicit Clock(const Plan& plan) : plan_(plan) {}
  unsigned workers() const override { return processes; }
  bool cancelled() const override { return false; }
  Sample run_cell(const Cell& cell, double timeout_seconds) override {
    EXPECT_EQ(cell.threads, 8u) << "the most";
    ++runs;
    Sample sample;
    sample.host_seconds = !plan_.samples() ? whole_seconds * (cell.design == kPthread ? 1 : times_slower)
                          : cell.design == kPthread ? window_seconds
                                                    : elided_seconds;
    sample.seconds = seconds_of_section;
    if (script) script(sample);
    if (sample.host_seconds > timeout_seconds) sample.outcome = Outcome::kTimedOut;
    if (stops) sample.host_seconds = std::min(sample.host_seconds, timeout_seconds);
    if (!plan_.samples() && cell.design == kPthread) allowed = timeout_seconds;
    limits.push_back(timeout_seconds);
    return sample;
  }

  double whole_seconds = 4, window_seconds = 1, elided_seconds = 1, allowed = 0, seconds_of_section = 2e-6,
         times_slower = 1;
  std::function<void(Sample&)> script;
  std::vector<double> limits;
  bool stops = false;  // at the timeout
  unsigned runs = 0, processes = 2;

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
    plan_.designs = {"pthread", "tatas", "ticket"};
    plan_.thread_counts = {2u, 8u};
    plan_.budget_seconds = 62;  // 2 s are for looks, 120 s for two workers: 4 processes of 6 a round
  }
  Fit fit(const Wishes& wishes = {false, kLength}) {
    return fit_into_budget(plan_, looks_, wishes, clock_, nobody_);
  }
  std::size_t windows() const { return plan_.windows.contains(8u) ? plan_.windows.at(8u).size() : 0; }

  Plan plan_;
  Previews looks_{{{1000, 900'000'000, false, 0.5}, {2000, 900'000'000, false, 1.5}}, false, 2};
  Clock clock_{plan_};
  Nobody nobody_;
};

TEST_F(Budget, WholeRunsIfTheFirstRoundsOfThemFit) {
  plan_.budget_seconds = 62;
  clock_.whole_seconds = 6.6;
  const Fit found = fit();
  EXPECT_NEAR(clock_.allowed, 120.0 / 18, 1e-9) << "three rounds";
  EXPECT_EQ(plan_.part.kind, Part::Kind::kFromSecondThread);
  EXPECT_FALSE(plan_.samples());
  EXPECT_TRUE(plan_.compare_output);
  ASSERT_EQ(found.tried.size(), 1u);
  EXPECT_EQ(found.tried[0].cell.run, 0u);
  EXPECT_NEAR(plan_.rounds_seconds, 60 - 3.3, 1e-9)
      << "half of the workers had nothing to do beside the trial";
}

TEST_F(Budget, AsManyWindowsAsFitIfNot) {
  plan_.budget_seconds = 72.4;  // the whole run is stopped after 7.8 seconds
  clock_.whole_seconds = 8;
  clock_.stops = true;
  const Fit found = fit();
  EXPECT_TRUE(found.fits);
  EXPECT_TRUE(found.one_fits);
  ASSERT_EQ(found.tried.size(), 5u) << "the windows of one process";
  for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(found.tried[i].cell.run, i);
  EXPECT_EQ(windows(), 20u);
  EXPECT_EQ(plan_.windows.at(2u).size(), 20u);
  EXPECT_EQ(plan_.part.windows, 20u);
  EXPECT_EQ(plan_.part.places, kMostWindows);
  EXPECT_EQ(plan_.part.together, kFirstWindows);
  EXPECT_EQ(plan_.part.length_ns, kLength);
  EXPECT_EQ(plan_.runs, kFirstWindows);
  EXPECT_EQ(plan_.most_runs, 20u);
  EXPECT_TRUE(plan_.launch.vm_words.empty());
  EXPECT_FALSE(plan_.compare_output);
}

TEST_F(Budget, WholeRunsThatCannotFitAreNotTried) {
  looks_.seen[0].host_seconds = 2.3;
  fit();
  EXPECT_EQ(clock_.runs, kFirstWindows);
  EXPECT_EQ(clock_.allowed, 0);
  EXPECT_TRUE(plan_.samples());
}

TEST_F(Budget, AProgramThatGoesOnBehindTheLookDoesNotFit) {
  looks_.seen[1].is_cut = true;
  clock_.whole_seconds = 0.1;
  fit();
  EXPECT_EQ(clock_.allowed, 0) << "not tried";
  EXPECT_TRUE(plan_.samples());
}

TEST_F(Budget, DesignsThatAreNotRunTakeNoTime) {
  plan_.not_run["ticket"] = "is missing";
  clock_.window_seconds = 2;
  plan_.budget_seconds = 2 + 5 + 60;
  fit({true, kLength});
  EXPECT_EQ(windows(), 15u);
}

TEST_F(Budget, DesignsThatElideLocksMayTakeLonger) {
  plan_.designs = {"pthread", "tatas", "htm-10"};
  clock_.elided_seconds = 8;
  plan_.budget_seconds = 24.5 + 100;  // the trials take 45 s, of which another worker loses half
  fit({true, kLength});
  EXPECT_EQ(windows(), 10u) << "a round takes 1 + 1 + 8 seconds for each number of threads";
  plan_.budget_seconds = 24.5 + 99;
  fit({true, kLength});
  EXPECT_EQ(windows(), 5u);
}

TEST_F(Budget, WholeRunsMustFitForDesignsThatElideLocksToo) {
  plan_.designs = {"pthread", "tatas", "htm-10"};
  plan_.budget_seconds = 62;  // 40 s for a round of 4 runs and 2 that elide
  clock_.whole_seconds = 2;
  EXPECT_EQ(fit().tried.size(), 1u) << "eight times as long fits";
  clock_.whole_seconds = 5;
  clock_.times_slower = 2;
  EXPECT_EQ(fit().tried.size(), 2u);
  EXPECT_EQ(clock_.limits.back(), 10) << "20 s are left for two runs";
  EXPECT_FALSE(plan_.samples());
  EXPECT_NEAR(plan_.rounds_seconds, 60 - 15.0 / 2, 1e-9) << "both are runs of the first round";
  clock_.times_slower = 2.1;
  EXPECT_EQ(fit().tried.size(), 2 * kFirstWindows);
  EXPECT_TRUE(plan_.samples());
}

TEST_F(Budget, EveryRunThatIsTriedHasALimit) {
  plan_.designs = {"pthread", "tatas", "htm-10"};
  plan_.budget_seconds = 600;
  clock_.elided_seconds = 1e6;
  clock_.stops = true;
  EXPECT_TRUE(fit({true, kLength}).one_fits) << "a design may hang";
  EXPECT_EQ(clock_.limits.back(), 100) << "20 times the reference";
  fit({true, kLength, 7});
  EXPECT_EQ(clock_.limits.back(), 7) << "the user's";
}

TEST_F(Budget, LongWindowsThatDoNotFitAreShort) {
  clock_.seconds_of_section = 1;
  clock_.script = [this](Sample& sample) {
    if (plan_.part.length_ns > kLength) sample.outcome = Outcome::kTimedOut;
  };
  const Fit found = fit({true, std::nullopt});
  EXPECT_TRUE(found.one_fits);
  EXPECT_EQ(found.tried.size(), kFirstWindows);
  EXPECT_EQ(plan_.part.length_ns, kLength);
  EXPECT_EQ(clock_.runs, 2 * kFirstWindows) << "the short ones are not run again";
}

TEST_F(Budget, FewestAndMostWindows) {
  looks_.seen[0].host_seconds = 3;
  clock_.window_seconds = 7;
  plan_.budget_seconds = 60 + 2 + 7;
  EXPECT_FALSE(fit().fits);
  EXPECT_EQ(windows(), kFirstWindows);
  EXPECT_EQ(plan_.runs, kFirstWindows);
  clock_.window_seconds = 0.1;
  EXPECT_TRUE(fit().fits);
  EXPECT_EQ(windows(), kMostWindows);
}

TEST_F(Budget, EveryWorkerHasAProcess) {
  const auto together = [this](unsigned processes) {
    clock_.processes = processes;
    fit({true, kLength});
    return plan_.part.together;
  };
  EXPECT_EQ(together(6), 5u) << "30 windows a pass";
  EXPECT_EQ(together(8), 3u);
  EXPECT_EQ(together(100), 1u);
  plan_.budget_seconds = 0;
  EXPECT_EQ(together(100), 5u) << "results must not depend on the host";
}

TEST_F(Budget, OneRunMayBeTooMuch) {
  looks_.seen[0].host_seconds = 3;
  clock_.window_seconds = 29;
  EXPECT_TRUE(fit().one_fits);
  clock_.window_seconds = 62;
  EXPECT_FALSE(fit().one_fits) << "there are 61 seconds left";
}

TEST_F(Budget, WithoutOneTheMostWindowsAreSampled) {
  plan_.budget_seconds = 0;
  clock_.window_seconds = 1000;
  const Fit found = fit({true, kLength});
  EXPECT_TRUE(found.fits);
  EXPECT_TRUE(found.one_fits);
  EXPECT_EQ(windows(), kMostWindows);
  EXPECT_EQ(plan_.rounds_seconds, 0) << "as long as it takes";
}

TEST_F(Budget, AWindowIsAsLongAsItsSectionsNeed) {
  const auto length = [this](double seconds_of_section) {
    clock_.seconds_of_section = seconds_of_section;
    clock_.runs = 0;
    fit({true, std::nullopt});
    return plan_.part.length_ns;
  };
  EXPECT_EQ(length(2e-6), 1'000'000u) << "500 sections";
  EXPECT_EQ(clock_.runs, 5u) << "all of the length that is right";
  EXPECT_EQ(length(2.1e-6), 1'100'000u);

  EXPECT_EQ(length(1e-7), 300'000u);
  EXPECT_EQ(length(1e-3), 20'000'000u);
  clock_.script = [this](Sample& sample) { sample.seconds = clock_.runs == 3 ? 1e-5 : 1e-7; };
  EXPECT_EQ(length(0), 5'000'000u) << "for the window with the rarest sections";
  clock_.script = [](Sample& sample) { sample.has_no_section = true; };
  EXPECT_EQ(length(1), 20'000'000u) << "locks are rare";
  clock_.script = [](Sample& sample) { sample.has_no_section = sample.ends_in_window = true; };
  EXPECT_EQ(length(1), 300'000u) << "the program is short";
}

}  // namespace
}  // namespace elision::cli::experiment
