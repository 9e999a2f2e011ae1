// SPDX-License-Identifier: Apache-2.0
// One program over several variations: ranges, differences, the statistics file.
#include "cli/judge/variation_summary.h"

#include <gtest/gtest.h>

#include <csignal>

#include "cli/show/statistics_json.h"
#include "cli/show/variation_table.h"

namespace elision::cli::experiment {
namespace {

Sample sample_of(double seconds, unsigned commits, unsigned conflicts) {
  Sample sample;
  sample.seconds = seconds;
  sample.cpu_seconds = 2 * seconds;
  sample.output = "total 4\n";
  sample.processes = {
      {{"pid", 1}, {"commits", commits}, {"aborts", {{"conflict", conflicts}, {"nested", 0}}}}};
  return sample;
}

class Variations : public ::testing::Test {
 protected:
  Variations() {
    plan_.launch.program.words = {"prog"};
    plan_.where = "m";
    plan_.model = true;
    plan_.designs = {""};
    plan_.variations = {{{"a.b", "1", "1", 1}}, {{"a.b", "1", "2", 2}}, {{"a.b", "1", "3", 3}}};
    plan_.runs = 3;
    plan_.first_seed = 4;
    plan_.judges_designs = false;
    add(sample_of(0.003, 10, 7));
    add(sample_of(0.001, 30, 5));
    add(sample_of(0.002, 20, 6));
  }
  void add(const Sample& sample) {
    const auto i = static_cast<std::uint32_t>(results_.size());
    results_.push_back({{std::nullopt, "", i, 4 + i, i}, sample});
  }

  Plan plan_;
  std::vector<Result> results_;
};

TEST_F(Variations, TableHasMediansAndRanges) {
  EXPECT_EQ(render_variations(plan_, results_),
            "prog on 3 variations of virtual m: median [low - high]\n"
            "  virtual time      2.00 ms [1.00 ms - 3.00 ms]\n"
            "  CPU time          4.00 ms [2.00 ms - 6.00 ms]\n"
            "  commits           20 [10 - 30]\n"
            "  aborts: conflict  6 [5 - 7]\n");
}

TEST_F(Variations, LockLibraryAndMetricHaveTheirLines) {
  plan_.designs = {"htm-10"};
  plan_.metric = "rate ([0-9]+)";
  for (unsigned i = 0; i < 3; ++i) {
    results_[i].sample.locks.fallbacks = 5 + i;
    results_[i].sample.output = "rate " + std::to_string(100 + i) + "\n";
  }
  const std::string text = render_variations(plan_, results_);
  EXPECT_NE(text.find("  fallbacks         6 [5 - 7]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  result            101 [100 - 102]\n"), std::string::npos) << text;
  EXPECT_EQ(varied_behaviour(plan_, results_), "") << "the metric's number is not output";
}

TEST_F(Variations, DifferencesAreSaidInOneLine) {
  EXPECT_EQ(varied_behaviour(plan_, results_), "");
  results_[1].sample.status = 3;
  results_[2].sample.output = "total 5\n";
  EXPECT_EQ(
      varied_behaviour(plan_, results_),
      "Not the same as in variation 0: the program ends otherwise in 1 of 3 (1); its output is another in "
      "1 of 3 (2).");
  for (unsigned i = 0; i < 3; ++i) add(sample_of(1, 1, 1));
  for (unsigned i = 1; i < 6; ++i) results_[i].sample.status = 3;
  EXPECT_NE(varied_behaviour(plan_, results_).find("otherwise in 5 of 6 (1, 2, 3, ...);"), std::string::npos);
  EXPECT_NE(render_variations(plan_, results_).find("variation 0: the program ends"), std::string::npos);
}

TEST_F(Variations, RunsThatWereKilledHaveNoTimes) {
  results_[0].sample.outcome = Outcome::kKilled;
  results_[0].sample.status = SIGSEGV;
  EXPECT_DOUBLE_EQ(varied_quantities(plan_, results_).front().range.high, 0.002);
  for (Result& result : results_) result.sample.outcome = Outcome::kKilled;
  EXPECT_EQ(
      render_variations(plan_, results_).find("prog on 3 variations of virtual m: none ended by itself\n"),
      0u);
}

TEST_F(Variations, FileHasEveryField) {
  results_.erase(results_.begin() + 1, results_.end());
  plan_.variations.resize(1);
  EXPECT_EQ(variation_statistics(plan_, results_), nlohmann::json::parse(R"({
    "version": 1, "machine": "m",
    "variations": [{
      "variation": 0, "seed": 4, "drawn": {"a.b": 1},
      "processes": [{"pid": 1, "commits": 10, "aborts": {"conflict": 7, "nested": 0}}],
      "totals": {"commits": 10, "aborts": {"conflict": 7, "nested": 0}}
    }],
    "ranges": {
      "seconds": {"median": 0.003, "low": 0.003, "high": 0.003},
      "cpu_seconds": {"median": 0.006, "low": 0.006, "high": 0.006},
      "commits": {"median": 10, "low": 10, "high": 10},
      "aborts.conflict": {"median": 7, "low": 7, "high": 7}
    }
  })"));
}

TEST_F(Variations, RunsInFileKeepNumberSeedAndDraw) {
  const nlohmann::json file = variation_statistics(plan_, results_);
  ASSERT_EQ(file["variations"].size(), 3u);
  const nlohmann::json& last = file["variations"][2];
  EXPECT_EQ(last["variation"], 2);
  EXPECT_EQ(last["seed"], 6);
  EXPECT_EQ(last["drawn"], (nlohmann::json{{"a.b", 3}}));
  EXPECT_EQ(last["totals"]["commits"], 20);
  EXPECT_EQ(file["ranges"]["commits"], (nlohmann::json{{"median", 20.0}, {"low", 10.0}, {"high", 30.0}}));
}

TEST(RunStatistics, HaveDrawnValuesAndTotals) {
  EXPECT_EQ(run_statistics("m", 3, {{"a.n", "1", "2", 2}, {"a.w", "l1", "lost", 1}},
                           {{{"commits", 2}}, {{"commits", 5}}}),
            nlohmann::json::parse(R"({
    "version": 1, "machine": "m", "variation": 3, "drawn": {"a.n": 2, "a.w": "lost"},
    "processes": [{"commits": 2}, {"commits": 5}], "totals": {"commits": 7}
  })"));
}

}  // namespace
}  // namespace elision::cli::experiment
