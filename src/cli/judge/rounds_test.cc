// SPDX-License-Identifier: Apache-2.0
// Whole comparisons, simulated: rounds are added while designs are undecided, and the last look is judged.
// Counts how often designs are named that gain something, and that gain nothing.
#include <gtest/gtest.h>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <cmath>
#include <map>

#include "cli/experiment/execute.h"
#include "cli/experiment/runner_for_test.h"
#include "cli/judge/comparison_for_test.h"
#include "cli/judge/verdict.h"

namespace elision::cli::experiment {
namespace {

/// Programs whose runs take 1 s, divided by what their design gains, with noise.
class NoisyRunner final : public CellRunner {
 public:
  NoisyRunner(std::map<std::string, double> gains, double noise, std::uint32_t seed)
      : gains_(std::move(gains)), noise_(noise), random_(seed) {}
  unsigned workers() const override { return 1; }
  bool cancelled() const override { return false; }
  Sample run_cell(const Cell& cell, double) override {
    ++runs;
    const double noise = boost::random::normal_distribution<double>(0, noise_)(random_);
    const bool disturbed = boost::random::uniform_01<double>()(random_) < 0.05;
    return timed(std::exp(noise) * (disturbed ? 1.5 : 1) / gains_.at(cell.design));
  }

  unsigned runs = 0;

 private:
  const std::map<std::string, double> gains_;
  const double noise_;
  boost::random::mt19937 random_;
};

class Silence final : public Observer {
 public:
  void estimate(const Outlook&, unsigned) override {}
  void progress(const Outlook&) override {}
};

struct Answers {
  std::map<std::string, int> named;
  double runs = 0;  // of a comparison, on average
};

constexpr int kComparisons = 60;

Answers answers(const std::map<std::string, double>& gains, double noise) {
  Plan plan;
  plan.launch.program.words = {"prog"};
  plan.designs = {kPthread};
  for (const auto& [design, gain] : gains) {
    if (design != kPthread) plan.designs.push_back(design);
  }
  plan.thread_counts = {std::nullopt};
  plan.runs = 5;
  plan.most_runs = 30;
  Silence silence;
  Answers result;
  for (int i = 0; i < kComparisons; ++i) {
    NoisyRunner runner(gains, noise, static_cast<std::uint32_t>(i));
    const Execution execution = execute(plan, runner, silence, 60, [&](const auto& results, auto threads) {
      return undecided(plan, block_of(plan, results, threads).rows);
    });
    ++result.named[analyse(plan, execution.results, true).front().verdict.design];
    result.runs += static_cast<double>(runner.runs) / kComparisons;
  }
  return result;
}

TEST(Rounds, DesignsThatGainNothingAreHardlyEverNamed) {
  for (const double noise : {0.02, 0.3}) {
    auto named = answers({{kPthread, 1}, {"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}, noise).named;
    EXPECT_GE(named[kPthread], 58) << noise;
  }
}

TEST(Rounds, GainIsFoundInNoise) {
  auto [named, runs] = answers({{kPthread, 1}, {"a", 1.25}, {"b", 0.5}}, 0.1);
  EXPECT_GE(named["a"], 57);
  EXPECT_GT(runs, 3 * 5 + 2 * 2) << "took more rounds than the first";
}

TEST(Rounds, ClearGainTakesNoMoreThanTheFirstRounds) {
  auto [named, runs] = answers({{kPthread, 1}, {"a", 2}, {"b", 0.5}}, 0.01);
  EXPECT_EQ(named["a"], kComparisons);
  EXPECT_LT(runs, 3 * 5 + 2);
}

TEST(Rounds, SmallGainIsFoundWithoutNoise) {
  auto named = answers({{kPthread, 1}, {"a", 1.06}}, 0.01).named;
  EXPECT_GE(named["a"], 57);
}

}  // namespace
}  // namespace elision::cli::experiment
