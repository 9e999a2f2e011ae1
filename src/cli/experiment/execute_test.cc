// SPDX-License-Identifier: Apache-2.0
// Order, estimate, early ends and errors of a comparison, with a runner that runs nothing.
#include "cli/experiment/execute.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>

#include "cli/experiment/program_runners.h"
#include "cli/host/usage_error.h"

namespace elision::cli::experiment {
namespace {

class FakeRunner final : public Runner {
 public:
  explicit FakeRunner(unsigned workers) : workers_(workers) {}
  unsigned workers() const override { return workers_; }
  bool cancelled() const override { return cancelled_; }
  Sample run(const Cell& cell, double timeout_seconds) override {
    const std::lock_guard guard(mutex_);
    cells.push_back(cell);
    timeouts.push_back(timeout_seconds);
    Sample sample;
    sample.host_seconds = 4;
    sample.output = "rate 5\n";
    sample.locks.locks_seen = true;
    if (script) script(cell, sample);
    if (cancel_at != 0 && cells.size() == cancel_at) cancelled_ = true;
    return sample;
  }

  std::function<void(const Cell&, Sample&)> script;
  std::size_t cancel_at = 0;  // the run during which somebody presses Ctrl-C, counted from 1
  std::vector<Cell> cells;
  std::vector<double> timeouts;

 private:
  const unsigned workers_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
};

class Notes final : public Observer {
 public:
  void estimate(std::size_t runs, unsigned, double seconds_left) override {
    estimated_runs = runs;
    estimated_seconds = seconds_left;
  }
  void progress(std::size_t done, std::size_t, double) override { last_done = done; }
  std::size_t estimated_runs = 0, last_done = 0;
  double estimated_seconds = -1;
};

Plan plan_of(std::vector<std::string> designs, unsigned runs) {
  Plan plan;
  plan.launch.program.words = {"prog"};
  plan.designs = std::move(designs);
  plan.thread_counts = {std::nullopt};
  plan.runs = runs;
  return plan;
}

std::vector<std::string> order_of(const std::vector<Result>& results) {
  std::vector<std::string> order;
  for (const Result& result : results) order.push_back(result.cell.design + std::to_string(result.cell.run));
  return order;
}

TEST(Execute, DesignsTakeTurnsSoThatDriftTouchesAll) {
  FakeRunner runner(1);
  Notes notes;
  const Execution execution = execute(plan_of({"pthread", "tatas"}, 2), runner, notes, 0);
  EXPECT_TRUE(execution.complete);
  EXPECT_EQ(order_of(execution.results),
            (std::vector<std::string>{"pthread0", "tatas0", "pthread1", "tatas1"}));
  EXPECT_EQ(notes.last_done, 4u);
}

TEST(Execute, ResultsAreInOrderWithManyWorkers) {
  FakeRunner runner(4);
  Notes notes;
  const Execution execution = execute(plan_of({"pthread", "a", "b", "c"}, 5), runner, notes, 0);
  ASSERT_EQ(execution.results.size(), 20u);
  EXPECT_EQ(order_of(execution.results)[5], "a1");
}

TEST(Execute, FirstRunGivesEstimateAndTimeout) {
  FakeRunner runner(2);
  Notes notes;
  execute(plan_of({"pthread", "tatas"}, 2), runner, notes, 0);
  EXPECT_EQ(notes.estimated_runs, 4u);
  EXPECT_DOUBLE_EQ(notes.estimated_seconds, 6);  // three runs of 4 s, two at a time
  EXPECT_DOUBLE_EQ(runner.timeouts[1], 80);
}

TEST(Execute, TimeoutGivenIsKept) {
  FakeRunner runner(1);
  Notes notes;
  execute(plan_of({"pthread", "tatas"}, 1), runner, notes, 7);
  EXPECT_EQ(runner.timeouts, (std::vector<double>{7, 7}));
}

TEST(Execute, HangingDesignIsTriedOnce) {
  FakeRunner runner(1);
  runner.script = [](const Cell& cell, Sample& sample) {
    if (cell.design == "tatas") sample.outcome = Outcome::kTimedOut;
  };
  Notes notes;
  const Execution execution = execute(plan_of({"pthread", "tatas"}, 3), runner, notes, 0);
  EXPECT_EQ(order_of(execution.results),
            (std::vector<std::string>{"pthread0", "tatas0", "pthread1", "pthread2"}));
  EXPECT_TRUE(execution.complete);
}

TEST(Execute, DesignsLeftOutAreNotRun) {
  FakeRunner runner(1);
  Notes notes;
  Plan plan = plan_of({"pthread", "tatas"}, 1);
  plan.not_run["tatas"] = "why";
  execute(plan, runner, notes, 0);
  EXPECT_EQ(runner.cells.size(), 1u);
}

TEST(Execute, ProgramWithoutLocksIsRunOnce) {
  FakeRunner runner(2);
  runner.script = [](const Cell&, Sample& sample) { sample.locks.locks_seen = false; };
  Notes notes;
  const Execution execution = execute(plan_of({"pthread", "tatas"}, 3), runner, notes, 0);
  EXPECT_EQ(execution.results.size(), 1u);
  EXPECT_TRUE(execution.complete);
}

TEST(Execute, BrokenProgramIsRunOnce) {
  FakeRunner runner(2);
  runner.script = [](const Cell&, Sample& sample) { sample.outcome = Outcome::kTimedOut; };
  Notes notes;
  EXPECT_EQ(execute(plan_of({"pthread", "tatas"}, 3), runner, notes, 0).results.size(), 1u);
}

TEST(Execute, FailingProgramIsRunOnceUnlessIgnored) {
  FakeRunner runner(1);
  runner.script = [](const Cell&, Sample& sample) { sample.status = 3; };
  Notes notes;
  Plan plan = plan_of({"pthread", "tatas"}, 3);
  EXPECT_EQ(execute(plan, runner, notes, 0).results.size(), 1u);
  plan.ignore_failure = true;
  EXPECT_EQ(execute(plan, runner, notes, 0).results.size(), 6u);
}

TEST(Execute, DeadlockEndsTheComparisonAlways) {
  FakeRunner runner(1);
  runner.script = [](const Cell&, Sample& sample) { sample.deadlocked = true; };
  Notes notes;
  Plan plan = plan_of({"pthread", "tatas"}, 3);
  plan.ignore_failure = true;
  EXPECT_EQ(execute(plan, runner, notes, 0).results.size(), 1u);
}

TEST(Execute, FailingThreadCountIsNotRepeated) {
  FakeRunner runner(1);
  runner.script = [](const Cell& cell, Sample& sample) { sample.status = cell.threads == 2u ? 1 : 0; };
  Notes notes;
  Plan plan = plan_of({"pthread", "tatas"}, 2);
  plan.thread_counts = {1u, 2u};
  EXPECT_EQ(order_of(execute(plan, runner, notes, 0).results),
            (std::vector<std::string>{"pthread0", "tatas0", "pthread1", "tatas1", "pthread0"}));
}

TEST(Execute, UnmatchedMetricIsErrorAtOnce) {
  FakeRunner runner(1);
  Notes notes;
  Plan plan = plan_of({"pthread", "tatas"}, 3);
  plan.metric = "speed ([0-9]+)";
  try {
    execute(plan, runner, notes, 0);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--metric 'speed ([0-9]+)' matches nothing that prog printed");
  }
  EXPECT_EQ(runner.cells.size(), 1u);
}

TEST(Execute, UnstartableProgramIsErrorAtOnce) {
  FakeRunner runner(1);
  runner.script = [](const Cell&, Sample& sample) { sample.start_error = "cannot open '/lib/x'"; };
  Notes notes;
  try {
    execute(plan_of({"pthread", "tatas"}, 3), runner, notes, 0);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "cannot open '/lib/x'");
  }
  EXPECT_EQ(runner.cells.size(), 1u);
}

TEST(Execute, StopKeepsWhatIsDone) {
  FakeRunner runner(1);
  runner.cancel_at = 3;
  Notes notes;
  const Execution execution = execute(plan_of({"pthread", "tatas"}, 3), runner, notes, 0);
  EXPECT_FALSE(execution.complete);
  EXPECT_EQ(order_of(execution.results), (std::vector<std::string>{"pthread0", "tatas0"}));
  EXPECT_EQ(runner.cells.size(), 3u);
}

TEST(Execute, StopDuringTheFirstRun) {
  FakeRunner runner(1);
  runner.cancel_at = 1;
  Notes notes;
  const Execution execution = execute(plan_of({"pthread", "tatas"}, 3), runner, notes, 0);
  EXPECT_FALSE(execution.complete);
  EXPECT_TRUE(execution.results.empty());
}

TEST(Execute, ErrorInAWorkerReachesTheCaller) {
  FakeRunner runner(2);
  runner.script = [](const Cell& cell, Sample&) {
    if (cell.design == "tatas") throw UsageError("no more");
  };
  Notes notes;
  EXPECT_THROW(execute(plan_of({"pthread", "tatas"}, 3), runner, notes, 0), UsageError);
}

TEST(Execute, SeedsCountUpAndVariationsOnRequest) {
  Plan plan = plan_of({"pthread", "tatas"}, 2);
  plan.first_seed = 40;
  for (const Cell& cell : cells_of(plan)) {
    EXPECT_EQ(cell.seed, 40 + cell.run);
    EXPECT_EQ(cell.variation, 0u);
  }
  plan.variations.resize(2);
  for (const Cell& cell : cells_of(plan)) {
    EXPECT_EQ(cell.seed, 40 + cell.run);
    EXPECT_EQ(cell.variation, cell.run) << "every design meets every variation with the same seed";
  }
}

TEST(Execute, PlanWithoutDesignsRunsDespiteFailures) {
  FakeRunner runner(1);
  runner.script = [](const Cell&, Sample& sample) {
    sample.locks.locks_seen = false;
    sample.outcome = Outcome::kKilled;
  };
  Notes notes;
  Plan plan = plan_of({""}, 3);
  plan.judges_designs = false;
  EXPECT_EQ(execute(plan, runner, notes, 0).results.size(), 3u);
}

TEST(Launch, EveryPlaceholderIsReplaced) {
  const std::vector<std::string> words = {"p", "-t{threads}", "{threads}x{threads}", "{thread}"};
  EXPECT_EQ(with_threads(words, 8), (std::vector<std::string>{"p", "-t8", "8x8", "{thread}"}));
  EXPECT_EQ(with_threads(words, std::nullopt), words);
}

}  // namespace
}  // namespace elision::cli::experiment
