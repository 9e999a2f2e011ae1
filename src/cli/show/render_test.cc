// SPDX-License-Identifier: Apache-2.0
// What a comparison looks like: tables, sentences, progress, JSON.
#include "cli/show/render.h"

#include <gtest/gtest.h>

#include <csignal>

#include "cli/judge/comparison_for_test.h"
#include "cli/show/comparison_table.h"
#include "cli/show/format.h"
#include "cli/show/progress.h"
#include "cli/show/report_json.h"

namespace elision::cli::experiment {
namespace {

TEST_F(Comparison, NamesFromOutsideCannotBreakTheText) {
  plan_.launch.program.words = {"a\nb\x1b[2J"};
  Sample killed = timed(1.0);
  killed.status = 3;
  killed.error_output = "\x1b[31mred\n";
  add_times("pthread", {1.0, 1.0, 1.0});
  add("tatas", {killed});
  const std::string text = render(plan_, {block()});
  EXPECT_NE(text.find("a\\nb\\x1b[2J on virtual m"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

TEST_F(Comparison, NoLockSeenMeansNoTable) {
  Sample sample = timed(1.0);
  sample.locks = {};
  add("pthread", {sample});
  add("tatas", {});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kNoLocks);
  const std::string expected =
      "prog took no lock that Elision can replace in this run, so the design of the lock makes no difference "
      "to it.\n";
  EXPECT_EQ(render(plan_, {block()}), expected);
}

TEST_F(Comparison, WithoutAReferenceThereIsNoTable) {
  add("pthread", {});
  add("tatas", {});
  EXPECT_EQ(render(plan_, {block(false)}),
            "Stopped early. Nothing to compare: no run under pthread ended.\n");
}

TEST_F(Comparison, RenderedTableMarksTheBestAndKeepsRemarks) {
  Sample fast = timed(0.0005);
  fast.locks.commits = 12345;
  fast.locks.fallbacks = 7;
  fast.locks.aborts = {{"capacity", 2}, {"conflict", 2500}};
  fast.locks.longest_wait_seconds = 1.5e-6;
  Sample killed = timed(0.1);
  killed.outcome = Outcome::kKilled;
  killed.status = SIGSEGV;
  add_times("pthread", {0.001, 0.001, 0.001});
  add("htm-10", {fast, fast, fast});
  add("tatas", {killed});
  plan_.thread_counts = {std::nullopt};
  const std::string expected =
      "prog on virtual m, 3 runs a design\n"
      "  design   virtual time  speedup  95 % interval  CPU time  commits  fallbacks  speculations  longest "
      "wait  "
      "aborts by cause\n"
      "  pthread       1.00 ms    1.00x              -   2.00 ms        -          -             -           "
      "  -  "
      "-\n"
      "* htm-10         500 us    2.00x  [2.00 - 2.00]   1.00 ms    12.3k          7             -       "
      "1.50 us  "
      "conflict 2500, capacity 2\n"
      "  tatas    was killed by Segmentation fault\n"
      "Use htm-10: 2.00 times as fast as pthread [2.00 - 2.00].\n";
  EXPECT_EQ(render(plan_, {block()}), expected);
}

TEST(Render, OneBlockPerThreadCount) {
  Plan plan;
  plan.launch.program.words = {"prog"};
  plan.where = "native";
  plan.designs = {"pthread"};
  plan.thread_counts = {1u, 2u};
  plan.runs = 1;
  const std::vector<Result> results = {{{1u, "pthread", 0}, timed(1.0)}, {{2u, "pthread", 0}, timed(2.0)}};
  const std::string text = render(plan, analyse(plan, results, true));
  EXPECT_NE(text.find("prog on this CPU, 1 thread, 1 run a design\n"), std::string::npos) << text;
  EXPECT_NE(text.find("prog on this CPU, 2 threads, 1 run a design\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1.00 s"), std::string::npos);
  EXPECT_NE(text.find("2.00 s"), std::string::npos);
}

class SeveralThreadCounts : public ::testing::Test {
 protected:
  SeveralThreadCounts() {
    plan_.launch.program.words = {"prog"};
    plan_.where = "native";
    plan_.designs = {"pthread", "tatas"};
    plan_.thread_counts = {1u, 2u};
    plan_.runs = 1;
    const std::vector<Result> results = {{{1u, "pthread", 0}, timed(1.0)},
                                         {{2u, "pthread", 0}, timed(2.0)},
                                         {{1u, "tatas", 0}, timed(1.0)},
                                         {{2u, "tatas", 0}, timed(0.5)}};
    blocks_ = analyse(plan_, results, true);
  }
  Plan plan_;
  std::vector<Block> blocks_;
};

TEST_F(SeveralThreadCounts, ScalingStandsBelowTheBlocks) {
  const std::string heading =
      "\nSpeed over threads, relative to pthread with 1 thread, if the work is the same with all numbers of "
      "threads\n";
  const std::string text = render(plan_, blocks_);
  EXPECT_NE(text.find(heading + "  threads     1     2  stops at  chart\n"
                                "  pthread  1.00  0.50         1  +-\n"
                                "  tatas    1.00  2.00         -  +#\n"),
            std::string::npos)
      << text;
  Appearance appearance;
  appearance.blocks = true;
  EXPECT_NE(render(plan_, blocks_, appearance).find("  tatas    1.00  2.00         -  \u2585\u2588\n"),
            std::string::npos);
  EXPECT_NE(render_markdown(plan_, blocks_).find("| tatas | 1\\.00 | 2\\.00 | - |"), std::string::npos)
      << render_markdown(plan_, blocks_);
}

TEST_F(SeveralThreadCounts, SentenceFollowsTheTableIfMoreThreadsDoNotGain) {
  const std::string same_work = "If the work is the same with all numbers of threads, no design";
  const std::string rest = " with more threads is shown to be faster than pthread with 1 thread.\n";
  EXPECT_EQ(render(plan_, blocks_).find(rest), std::string::npos);
  EXPECT_EQ(render_markdown(plan_, blocks_).find("with more threads is shown"), std::string::npos);
  for (Row& row : blocks_[1].rows) row.value = {1, 1, 1};
  EXPECT_NE(render(plan_, blocks_).find("#\n" + same_work + rest), std::string::npos)
      << render(plan_, blocks_);
  EXPECT_NE(render_markdown(plan_, blocks_).find("\n\n" + same_work), std::string::npos);
  plan_.metric = "rate (.*)";
  for (Row& row : blocks_[1].rows) row.value = {0.1, 0.1, 0.1};
  EXPECT_NE(render(plan_, blocks_).find("\nNo design" + rest), std::string::npos) << "a rate knows the work";
}

TEST_F(SeveralThreadCounts, ScalingIsInJsonAndCsv) {
  EXPECT_EQ(report_json(plan_, {}, blocks_)["scaling"], nlohmann::json::parse(R"({
    "throughput": "1/seconds", "threads": [1, 2], "more_threads_gain": true, "designs": [
      {"design": "pthread", "stops_at": 1, "points": [
        {"threads": 1, "relative": 1.0, "throughput": {"median": 1.0, "low": 1.0, "high": 1.0}},
        {"threads": 2, "relative": 0.5, "throughput": {"median": 0.5, "low": 0.5, "high": 0.5}}]},
      {"design": "tatas", "stops_at": null, "points": [
        {"threads": 1, "relative": 1.0, "throughput": {"median": 1.0, "low": 1.0, "high": 1.0}},
        {"threads": 2, "relative": 2.0, "throughput": {"median": 2.0, "low": 2.0, "high": 2.0}}]}]
  })"));
  const Table values = comparison_values(plan_, blocks_);
  ASSERT_EQ(values.columns.back().heading, "stops_scaling_at");
  EXPECT_EQ(values.rows[2].cells.back(), "1");
  EXPECT_EQ(values.rows[3].cells.back(), "");
  EXPECT_EQ(values.rows[3].cells.rbegin()[1], "2");
}

TEST_F(Comparison, HeadingSaysHowOftenDesignsRan) {
  add_times("pthread", {1.0, 1.0, 1.0, 1.0, 1.0});
  add_times("ticket", {2.0, 2.0, 2.0});
  EXPECT_NE(render(plan_, {block()}).find("prog on virtual m, 3 to 5 runs a design\n"), std::string::npos);
  add_times("ticket", {2.0, 2.0});
  EXPECT_NE(render(plan_, {block()}).find("prog on virtual m, 5 runs a design\n"), std::string::npos)
      << "more than were asked for";
}

TEST_F(Comparison, DesignsThatWereNotRunForWantOfAReferenceHaveNoRows) {
  plan_.not_run["ticket-aahtm"] = "not run on a real CPU without --rtm-always-abort";
  Sample killed = timed(1);
  killed.outcome = Outcome::kKilled;
  add("pthread", {killed});
  add("tatas", {});
  add("ticket-aahtm", {});
  const Table table = comparison_table(plan_, block());
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].cells[0], "pthread");
  EXPECT_EQ(table.rows[1].cells[0], "ticket-aahtm");
}

TEST_F(Comparison, HeadingOfAFailureCountsNoRuns) {
  Sample failed = timed(1.0);
  failed.status = 1;
  add("pthread", {failed});
  const std::string text = render(plan_, {block()});
  EXPECT_TRUE(text.starts_with("prog on virtual m\n")) << text;
}

TEST(Render, NumbersKeepThreeDigits) {
  EXPECT_EQ(format_seconds(0.0123456), "12.3 ms");
  EXPECT_EQ(format_seconds(9.999), "10.0 s");
  EXPECT_EQ(format_seconds(0.9999), "1.00 s");
  EXPECT_EQ(format_seconds(3e-9), "3.00 ns");
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_count(9999), "9999");
  EXPECT_EQ(format_count(12345), "12.3k");
  EXPECT_EQ(format_count(999999), "1.00M");
  EXPECT_EQ(format_count(2.5), "2.50");
}

/// A sample with another value in every member that a report shows.
Sample distinct_sample() {
  Sample sample = timed(0.5);
  sample.status = 3;
  sample.host_seconds = 7;
  sample.locks.commits = 11;
  sample.locks.aborts = {{"conflict", 12}};
  sample.locks.fallbacks = 13;
  sample.locks.speculations = 14;
  sample.locks.longest_wait_seconds = 0.25;
  return sample;
}

constexpr const char* kDistinctLocks = R"({
  "locks_seen": true, "acquisitions": 10, "commits": 11, "aborts": {"conflict": 12}, "fallbacks": 13,
  "speculations": null, "longest_wait_seconds": 0.25
})";

TEST_F(Comparison, JsonOfRunHasEveryField) {
  Sample killed = distinct_sample();
  killed.outcome = Outcome::kKilled;
  killed.deadlocked = true;
  plan_.metric = "total ([0-9]+)";
  plan_.designs = {"pthread", "htm-10"};
  results_ = {{{4u, "htm-10", 1, 40, 2}, killed}};
  nlohmann::json expected = nlohmann::json::parse(R"({
    "threads": 4, "design": "htm-10", "run": 1, "seed": 40, "variation": 2, "outcome": "killed", "status": 3,
    "deadlocked": true, "seconds": 0.5, "cpu_seconds": 1.0, "host_seconds": 7.0, "metric": 400.0,
    "command": "elision vm --machine m --seed 40 --variation 2 --lock htm-10 -- prog"
  })");
  expected["locks"] = nlohmann::json::parse(kDistinctLocks);
  expected["command"] = "elision vm --machine m --seed 40 --variation 2 --lock htm-10 -- prog";
  EXPECT_EQ(report_json(plan_, results_, {})["runs"][0], expected);
}

TEST_F(Comparison, JsonHasPlanRowsAndVerdict) {
  plan_.ignore_failure = true;  // the sample's status is not 0
  Sample fast = distinct_sample();
  fast.seconds = 0.25;
  add("pthread", {distinct_sample(), distinct_sample()});
  add("tatas", {fast, fast});
  add("ticket", {});
  nlohmann::json expected = nlohmann::json::parse(R"({
    "version": 1, "program": "prog", "where": "m", "virtual": true, "metric": "", "lower_is_better": true,
    "reference": "pthread",
    "blocks": [{
      "cold_rounds": 0,
      "threads": null,
      "rows": [
        {"design": "pthread", "state": "good", "best": false, "runs": 2, "cpu_seconds": 1.0,
         "value": {"median": 0.5, "low": 0.5, "high": 0.5},
         "speedup": 1.0, "ratios": [1.0, 1.0], "interval": {"low": 1.0, "high": 1.0, "confidence": 0.95}},
        {"design": "tatas", "state": "good", "best": true, "runs": 2, "cpu_seconds": 1.0,
         "value": {"median": 0.25, "low": 0.25, "high": 0.25},
         "speedup": 2.0, "ratios": [2.0, 2.0], "interval": {"low": 2.0, "high": 2.0, "confidence": 0.95}},
        {"design": "ticket", "state": "not-run", "best": false, "remark": "not run"}
      ],
      "verdict": {"kind": "use", "sentence": "Use tatas: 2.00 times as fast as pthread [2.00 - 2.00]."}
    }]
  })");
  for (const std::size_t row : {0, 1}) {
    nlohmann::json& locks = expected["blocks"][0]["rows"][row]["locks"];
    locks = nlohmann::json::parse(kDistinctLocks);
    for (const char* count : {"commits", "fallbacks"}) locks[count] = nullptr;  // neither design elides
  }
  for (const char* count : {"acquisitions", "longest_wait_seconds"})
    expected["blocks"][0]["rows"][0]["locks"][count] = nullptr;  // glibc's lock counts nothing
  nlohmann::json report = report_json(plan_, results_, {block()});
  EXPECT_EQ(report["runs"].size(), 4u);
  report.erase("runs");
  EXPECT_EQ(report, expected);
}

TEST_F(Varied, TableShowsRanges) {
  vary("a.b", {0, 1});
  add("pthread", {0.001, 0.002});
  add("tatas", {0.0005, 0.0005});
  const std::string expected =
      "prog on virtual m, 2 variations of the machine: median [low - high], counts of the median run\n"
      "  design                  virtual time           to pthread  best in  CPU time  commits  fallbacks  "
      "speculations  longest wait  aborts by cause\n"
      "  pthread  1.00 ms [1.00 ms - 2.00 ms]  1.00x [1.00 - 1.00]      0/2       0 s        -          -    "
      "         -             -  -\n"
      "* tatas       500 us [500 us - 500 us]  3.00x [2.00 - 4.00]      2/2       0 s        -          -    "
      "         -           0 s  -\n"
      "Use tatas: tatas beats pthread in 2 of 2, by 2.00x to 4.00x.\n";
  EXPECT_EQ(render(plan_, {block()}), expected);
}

TEST_F(Varied, JsonHoldsWhatWasDrawnAndTheRatios) {
  vary("a.b", {0, 7});
  for (auto& variation : plan_.variations) variation.push_back({"a.word", "l1", "lost", 1});
  add("pthread", {1, 1});
  add("tatas", {0.5, 0.25});
  const nlohmann::json report = report_json(plan_, results_, {block()});
  EXPECT_EQ(report["variations"][1],
            (nlohmann::json{{"variation", 1}, {"seed", 6}, {"drawn", {{"a.b", 7}, {"a.word", "lost"}}}}));
  const nlohmann::json row = report["blocks"][0]["rows"][1];
  EXPECT_EQ(row["ratios"], (nlohmann::json{2.0, 4.0}));
  EXPECT_EQ(row["ratio"], (nlohmann::json{{"median", 3.0}, {"low", 2.0}, {"high", 4.0}}));
  EXPECT_EQ(row["leads"], 2);
  EXPECT_EQ(report["runs"][3]["seed"], 6);
  EXPECT_EQ(report["runs"][3]["variation"], 1);
}

TEST(Progress, EstimateHasALineOfItsOwn) {
  testing::internal::CaptureStderr();
  {
    Progress progress("compare", true);
    progress.progress({0, 2, false, std::nullopt, "pthread"});
    progress.estimate({1, 2, false, 3, "pthread"}, 1);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("0 of 2 runs, pthread\r\x1b[Kelision compare: 2 runs, 1 at a time, more than 3 s\n"),
            std::string::npos)
      << text;
}

TEST(Progress, BarAndEstimate) {
  Outlook outlook{10, 20, false, 40, "htm-10 with 8 threads"};
  EXPECT_EQ(format_bar(outlook, 200),
            "[###############...............] 10 of 20 runs, about 40 s left, htm-10 with 8 threads");
  EXPECT_EQ(format_bar(outlook, 45), "[###############...............] 10 of 20 run");
  outlook.may_grow = true;
  EXPECT_EQ(format_runs(outlook), "at least 20 runs");
  EXPECT_EQ(format_bar({0, 1, false, std::nullopt, "pthread"}, 200),
            "[..............................] 0 of 1 run, pthread");
  EXPECT_EQ(format_estimate(0.2), "less than a second");
  EXPECT_EQ(format_estimate(125), "about 3 min");
  EXPECT_EQ(format_estimate(0.2, true), "a second or more");
  EXPECT_EQ(format_estimate(6.5, true), "more than 7 s");
}

}  // namespace
}  // namespace elision::cli::experiment
