// SPDX-License-Identifier: Apache-2.0
// Order, estimate, early ends and errors of a comparison, with a runner that runs nothing.
#include "cli/experiment/execute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <map>
#include <mutex>
#include <set>

#include "cli/experiment/program_runners.h"
#include "cli/experiment/runner_for_test.h"
#include "cli/host/usage_error.h"

namespace elision::cli::experiment {
namespace {

class FakeRunner final : public CellRunner {
 public:
  explicit FakeRunner(unsigned workers) : workers_(workers) {}
  unsigned workers() const override { return workers_; }
  bool cancelled() const override { return cancelled_; }
  std::vector<Sample> run(const std::vector<Cell>& windows, double timeout_seconds) override {
    const std::lock_guard guard(mutex_);
    processes.emplace_back();
    for (const Cell& window : windows) processes.back().push_back(window.design + std::to_string(window.run));
    return CellRunner::run(windows, timeout_seconds);
  }

  std::function<void(const Cell&, Sample&)> script;
  std::size_t cancel_at = 0;  // the run during which somebody presses Ctrl-C, counted from 1
  std::vector<Cell> cells;
  std::vector<double> timeouts;
  std::vector<std::vector<std::string>> processes;  // and their cells

 private:
  Sample run_cell(const Cell& cell, double timeout_seconds) override {
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

  const unsigned workers_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
};

class Notes final : public Observer {
 public:
  void estimate(const Outlook& outlook, unsigned) override { estimated = outlook; }
  void progress(const Outlook& outlook) override { last = outlook; }
  Outlook estimated, last;
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
            (std::vector<std::string>{"pthread0", "tatas0", "tatas1", "pthread1"}));
  EXPECT_EQ(notes.last.done, 4u);
}

TEST(Execute, PairsOfRoundsHaveOrdersOfTheirOwn) {
  const std::vector<std::string> designs = {"pthread", "a", "b", "c", "d", "e"};
  const std::vector<Cell> cells = cells_of(plan_of(designs, 40));
  std::set<std::vector<std::string>> orders;
  std::map<std::string, std::size_t> places;
  for (unsigned round = 0; round < 40; ++round) {
    std::vector<std::string> order;
    for (std::size_t i = 0; i < designs.size(); ++i) {
      const Cell& cell = cells[round * designs.size() + i];
      EXPECT_EQ(cell.run, round);
      order.push_back(cell.design);
      places[cell.design] += i;
    }
    EXPECT_EQ(std::set(order.begin(), order.end()), std::set(designs.begin(), designs.end()));
    orders.insert(order);
    if (round == 0) {
      EXPECT_EQ(order, designs);
    }
  }
  EXPECT_GT(orders.size(), 30u);
  for (const std::string& design : designs)
    EXPECT_EQ(places[design], 100u) << "the same place on average, so a steady drift cancels: " << design;
}

/// What was asked, and the rounds of each design that ran.
struct Adaptive {
  explicit Adaptive(Plan asked) : plan(std::move(asked)) {}

  /// Every design of `open` is undecided until it has had so many runs.
  Execution run(std::map<std::string, std::size_t> open) {
    return execute(
        plan, runner, notes, 0, [this, open](const auto& results, std::optional<unsigned> threads) {
          std::vector<std::string> designs;
          for (const auto& [design, runs] : open) {
            const auto had = std::count_if(results.begin(), results.end(), [&](const Result& result) {
              return result.cell.design == design && result.cell.threads == threads;
            });
            if (static_cast<std::size_t>(had) < runs) designs.push_back(design);
          }
          ++questions;
          return designs;
        });
  }
  std::map<std::string, unsigned> runs() const {
    std::map<std::string, unsigned> counts;
    for (const Cell& cell : runner.cells) ++counts[cell.design];
    return counts;
  }

  Plan plan;
  FakeRunner runner{1};
  Notes notes;
  int questions = 0;
};

Plan growing(unsigned runs, unsigned most) {
  Plan plan = plan_of({"pthread", "tatas", "htm-10"}, runs);
  plan.model = true;
  plan.most_runs = most;
  return plan;
}

using Counts = std::map<std::string, unsigned>;

TEST(Execute, RoundsAreAddedForUndecidedDesignsOnly) {
  Adaptive adaptive(growing(3, 12));
  const Execution execution = adaptive.run({{"pthread", 6}, {"tatas", 6}});
  EXPECT_TRUE(execution.complete);
  EXPECT_EQ(adaptive.runs(), (Counts{{"pthread", 7}, {"tatas", 7}, {"htm-10", 3}}));  // 3, 5, 7
  EXPECT_EQ(adaptive.questions, 3);
  EXPECT_EQ(execution.results.back().cell.run, 6u);
  EXPECT_EQ(execution.results.back().cell.seed, 7u);
  EXPECT_EQ(adaptive.notes.last.done, 17u);
}

TEST(Execute, AddedRoundsEndAtTheMost) {
  Adaptive adaptive(growing(3, 12));
  adaptive.run({{"pthread", 100}, {"tatas", 100}});
  EXPECT_EQ(adaptive.runs(), (Counts{{"pthread", 12}, {"tatas", 12}, {"htm-10", 3}}));
}

TEST(Execute, NumberOfRunsThatWasGivenIsExact) {
  Adaptive adaptive(growing(3, 0));
  adaptive.run({{"pthread", 100}});
  EXPECT_EQ(adaptive.runs(), (Counts{{"pthread", 3}, {"tatas", 3}, {"htm-10", 3}}));
}

TEST(Execute, NumbersOfThreadsAreDecidedOneByOne) {
  Adaptive adaptive(growing(3, 12));
  adaptive.plan.thread_counts = {1u, 2u};
  adaptive.runner.script = [](const Cell& cell, Sample& sample) {
    if (cell.threads == 1u) sample.outcome = Outcome::kKilled;  // ends this number
  };
  const Execution execution = adaptive.run({{"pthread", 4}});
  const auto runs = std::count_if(execution.results.begin(), execution.results.end(),
                                  [](const Result& result) { return result.cell.threads == 2u; });
  EXPECT_EQ(runs, 3 * 3 + 2);
}

TEST(Execute, AddedRoundsOnARealCpuEndInTime) {
  Adaptive adaptive(growing(3, 30));
  adaptive.plan.model = false;
  adaptive.run({{"pthread", 100}, {"tatas", 100}});
  // Runs take 4 s. 2, 2, 3, 4 and 6 rounds of two designs are 136 s, more than 120.
  EXPECT_EQ(adaptive.runs(), (Counts{{"pthread", 14}, {"tatas", 14}, {"htm-10", 3}}));
}

TEST(Execute, ResultsAreInTheOrderOfRoundsWhenSomeAreAdded) {
  Adaptive adaptive(growing(3, 5));
  adaptive.plan.thread_counts = {2u, 1u};
  const Execution execution = adaptive.run({{"pthread", 5}, {"tatas", 5}});
  std::vector<std::pair<bool, unsigned>> places;
  for (const Result& result : execution.results)
    places.emplace_back(result.cell.threads == 1u, result.cell.run);
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  EXPECT_EQ(places.size(), 2u * (3 * 3 + 2 * 2));
}

TEST(Execute, CellsOfAnEarlierPlanRunExactly) {
  Adaptive first(growing(3, 12));
  const Execution execution = first.run({{"pthread", 6}, {"tatas", 6}});
  Adaptive again(growing(3, 12));
  for (const Result& result : execution.results) again.plan.cells.push_back(result.cell);
  again.plan.rounds_seconds = 1;  // is of the earlier host
  const Execution repeated = again.run({{"htm-10", 100}});
  EXPECT_EQ(order_of(repeated.results), order_of(execution.results));
  EXPECT_EQ(again.questions, 0);
}

TEST(Execute, ARunThatWasTriedIsNotRepeated) {
  FakeRunner runner(1);
  Notes notes;
  Plan plan = plan_of({"pthread", "tatas"}, 2);
  plan.thread_counts = {1u, 2u};
  Result tried{{2u, "pthread", 0}, {}};
  tried.sample.seconds = 5;
  tried.sample.locks.locks_seen = true;
  const Execution execution = execute(plan, runner, notes, 0, nullptr, {tried});
  EXPECT_EQ(runner.cells.size(), 7u);
  ASSERT_EQ(execution.results.size(), 8u);
  for (const Result& result : execution.results) {
    const bool is_tried =
        result.cell.threads == 2u && result.cell.design == "pthread" && result.cell.run == 0;
    EXPECT_EQ(result.sample.seconds, is_tried ? 5 : 0);
  }
}

TEST(Execute, StopDuringAddedRoundsKeepsWhatIsDone) {
  Adaptive adaptive(growing(3, 12));
  adaptive.runner.cancel_at = 11;
  const Execution execution = adaptive.run({{"pthread", 12}, {"tatas", 12}});
  EXPECT_FALSE(execution.complete);
  EXPECT_EQ(execution.results.size(), 10u);
}

TEST(Execute, ProgramWithoutLocksGetsNoMoreRounds) {
  Adaptive adaptive(growing(3, 12));
  adaptive.runner.script = [](const Cell&, Sample& sample) { sample.locks.locks_seen = false; };
  EXPECT_EQ(adaptive.run({{"pthread", 12}}).results.size(), 1u);
}

TEST(Execute, ResultsAreInOrderWithManyWorkers) {
  FakeRunner runner(4);
  Notes notes;
  const Execution execution = execute(plan_of({"pthread", "a", "b", "c"}, 5), runner, notes, 0);
  ASSERT_EQ(execution.results.size(), 20u);
  EXPECT_EQ(order_of(execution.results)[5], "b1");
}

TEST(Execute, FirstRunGivesEstimateAndTimeout) {
  FakeRunner runner(2);
  Notes notes;
  execute(plan_of({"pthread", "tatas"}, 2), runner, notes, 0);
  EXPECT_EQ(notes.estimated.runs, 4u);
  EXPECT_DOUBLE_EQ(notes.estimated.seconds_left.value(), 6);  // three runs of 4 s, two at a time
  EXPECT_DOUBLE_EQ(runner.timeouts[1], 80);
}

TEST(Execute, ProgressNamesTheRunAndWhetherRoundsMayBeAdded) {
  Adaptive adaptive(growing(3, 12));
  adaptive.plan.thread_counts = {4u};
  std::vector<std::string> running;
  std::vector<bool> known;
  adaptive.runner.script = [&](const Cell&, Sample&) {
    running.push_back(adaptive.notes.last.running);
    known.push_back(adaptive.notes.last.seconds_left.has_value());
  };
  adaptive.run({});
  EXPECT_EQ(running[0], "pthread with 4 threads");
  EXPECT_EQ(running[1], "tatas with 4 threads");
  EXPECT_FALSE(known[0]) << "no run has ended";
  EXPECT_TRUE(known[1]);
  EXPECT_TRUE(adaptive.notes.estimated.may_grow);
  EXPECT_EQ(adaptive.notes.last.done, 9u);
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

TEST(Execute, NumberOfThreadsWithoutLocksIsSkippedAlone) {
  Adaptive adaptive(growing(2, 4));
  adaptive.plan.thread_counts = {1u, 2u, 3u};
  adaptive.runner.script = [](const Cell& cell, Sample& sample) {
    sample.locks.locks_seen = cell.threads == 2u;
  };
  const Execution execution = adaptive.run({{"pthread", 4}});
  std::map<unsigned, unsigned> runs;
  for (const Result& result : execution.results) ++runs[*result.cell.threads];
  EXPECT_EQ(runs, (std::map<unsigned, unsigned>{{1, 1}, {2, 8}, {3, 1}}));
  EXPECT_EQ(adaptive.notes.estimated.runs, 18u) << "the other numbers are still to be run";
  EXPECT_TRUE(execution.complete);
}

/// With two threads, the program takes no lock, and its first run ends after another design's.
class LateReference final : public CellRunner {
 public:
  unsigned workers() const override { return 2; }
  bool cancelled() const override { return false; }
  Sample run_cell(const Cell& cell, double) override {
    if (cell.threads == 2u && cell.design == kPthread && cell.run == 0) other_ended_.wait();
    if (cell.threads == 2u && cell.design != kPthread && cell.run == 0) other_ended_.count_down();
    Sample sample;
    sample.locks.locks_seen = cell.threads == 1u;
    return sample;
  }

 private:
  std::latch other_ended_{1};
};

TEST(Execute, RunsBesideTheFirstOneWithoutLocksAreDropped) {
  LateReference runner;
  Notes notes;
  Plan plan = plan_of({"pthread", "tatas"}, 2);
  plan.thread_counts = {1u, 2u};
  const std::vector<Result> results = execute(plan, runner, notes, 0).results;
  EXPECT_EQ(order_of(results),
            (std::vector<std::string>{"pthread0", "tatas0", "tatas1", "pthread1", "pthread0"}));
}

TEST(Execute, ProgramThatLocksInSomeRunsIsCompared) {
  FakeRunner runner(1);
  runner.script = [](const Cell& cell, Sample& sample) { sample.locks.locks_seen = cell.run == 0; };
  Notes notes;
  EXPECT_EQ(execute(plan_of({"pthread", "tatas"}, 3), runner, notes, 0).results.size(), 6u);
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
            (std::vector<std::string>{"pthread0", "tatas0", "tatas1", "pthread1", "pthread0"}));
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

TEST(Execute, RoundsAreAddedWhileTheBudgetLasts) {
  const auto rounds = [](double budget, bool model) {
    Adaptive adaptive(plan_of({"pthread", "tatas"}, 3));
    adaptive.plan.most_runs = 100;
    adaptive.plan.model = model;
    adaptive.plan.rounds_seconds = budget;
    return adaptive.run({{"pthread", 100}, {"tatas", 100}}).results.size() / 2;
  };
  // A round takes 8 s. Passes end after 3, 5, 7 and 10 rounds.
  for (const bool model : {false, true}) {
    EXPECT_EQ(rounds(56, model), 7u);
    EXPECT_EQ(rounds(55, model), 5u);
    EXPECT_EQ(rounds(1, model), 3u) << "the first rounds are run anyway";
  }
}

TEST(Execute, WindowsEndWithTheBudget) {
  Plan plan = plan_of({"pthread", "tatas"}, 10);
  plan.model = true;
  plan.rounds_seconds = 36;  // nine runs of 4 s
  FakeRunner runner(1);
  Notes notes;
  EXPECT_EQ(execute(plan, runner, notes, 0).results.size(), 10u) << "the tenth began in time";
  plan.rounds_seconds = 1;
  FakeRunner late(1);
  EXPECT_EQ(execute(plan, late, notes, 0).results.size(), 6u) << "the first rounds";
}

/// Windows of two designs, of which one process simulates `together`. `first`: how many all designs get; 0:
/// all.
Plan windows_plan(unsigned windows, unsigned together, unsigned first = 0) {
  Plan plan = plan_of({"pthread", "tatas"}, first != 0 ? first : windows);
  if (first != 0) plan.most_runs = windows;
  plan.model = true;
  plan.part = {.kind = Part::Kind::kWindows, .windows = windows, .places = windows, .together = together};
  for (unsigned i = 0; i < windows; ++i) {
    vm::RunRegion window;
    window.start = {vm::Trigger::Kind::kInstructions, 100 * (i + 1)};
    plan.windows[std::nullopt].push_back(window);
  }
  return plan;
}

TEST(Execute, AProcessSimulatesWindowsTogether) {
  const Plan plan = windows_plan(5, 2);
  FakeRunner runner(1);
  Notes notes;
  const Execution execution = execute(plan, runner, notes, 0);
  EXPECT_EQ(runner.processes, (std::vector<std::vector<std::string>>{{"pthread0", "pthread1"},
                                                                     {"tatas0", "tatas1"},
                                                                     {"tatas2", "tatas3"},
                                                                     {"pthread2", "pthread3"},
                                                                     {"tatas4"},
                                                                     {"pthread4"}}));
  EXPECT_EQ(order_of(execution.results),
            (std::vector<std::string>{"pthread0", "tatas0", "tatas1", "pthread1", "tatas2", "pthread2",
                                      "pthread3", "tatas3", "tatas4", "pthread4"}))
      << "as if each had run alone";
  for (const Result& result : execution.results)
    EXPECT_EQ(result.cell.seed, plan.first_seed + result.cell.run / 2 * 2) << "that of the process";
  EXPECT_EQ(notes.last.done, 10u);
}

TEST(Execute, AWindowThatBeginsLaterMayTakeLonger) {
  FakeRunner runner(1);
  runner.script = [](const Cell&, Sample& sample) { sample.host_seconds = 10; };
  Notes notes;
  execute(windows_plan(6, 2), runner, notes, 0);
  EXPECT_EQ(runner.timeouts.back(), 20 * 20 * 3) << "20 times the first process, and three times as far";
}

TEST(Execute, NoMoreWindowsOfAProcessThatTimedOut) {
  FakeRunner runner(1);
  runner.script = [](const Cell& cell, Sample& sample) {
    if (cell.design == "tatas") sample.outcome = Outcome::kTimedOut;
  };
  Notes notes;
  const Execution execution = execute(windows_plan(6, 3), runner, notes, 0);
  EXPECT_EQ(order_of(execution.results).size(), 9u);
}

TEST(Execute, AddsWindowsOfWholeProcesses) {
  const Plan plan = windows_plan(20, 5, 5);
  FakeRunner runner(1);
  Notes notes;
  std::vector<std::size_t> passes;
  execute(plan, runner, notes, 0, [&](const std::vector<Result>& results, std::optional<unsigned>) {
    passes.push_back(results.size());
    return passes.size() < 3 ? std::vector<std::string>{"pthread", "tatas"} : std::vector<std::string>();
  });
  EXPECT_EQ(passes, (std::vector<std::size_t>{10, 20, 30}));
}

TEST(Execute, PassesLeaveProcessesAsTheyAre) {
  const Plan plan = windows_plan(20, 3, 5);
  FakeRunner runner(1);
  Notes notes;
  const Execution execution =
      execute(plan, runner, notes, 0, [&](const std::vector<Result>&, std::optional<unsigned>) {
        return runner.processes.size() < 8 ? plan.designs : std::vector<std::string>();
      });
  std::vector<Cell> cells;
  for (const Result& result : execution.results) cells.push_back(result.cell);
  std::vector<std::vector<std::string>> found;
  for (const std::vector<std::size_t>& process : processes_of(cells)) {
    found.emplace_back();
    for (const std::size_t i : process)
      found.back().push_back(cells[i].design + std::to_string(cells[i].run));
  }
  std::sort(found.begin(), found.end());
  std::sort(runner.processes.begin(), runner.processes.end());
  EXPECT_EQ(found, runner.processes);
  for (const auto& process :
       {std::vector<std::string>{"pthread0", "pthread1", "pthread2"}, {"pthread3", "pthread4"}})
    EXPECT_EQ(std::count(found.begin(), found.end(), process), 1);
}

TEST(Execute, NoWindowOfAProcessWithoutLocksIsDropped) {
  FakeRunner runner(1);
  runner.script = [](const Cell&, Sample& sample) { sample.locks.locks_seen = false; };
  Notes notes;
  EXPECT_EQ(order_of(execute(windows_plan(4, 2), runner, notes, 0).results),
            (std::vector<std::string>{"pthread0", "pthread1"}));
}

TEST(Execute, WindowsThatWereTriedAreNotRunAgain) {
  FakeRunner runner(1);
  Notes notes;
  const Plan plan = windows_plan(4, 2);
  std::vector<Result> tried;
  for (unsigned run = 0; run < 2; ++run) {
    Sample sample;
    sample.locks.locks_seen = true;
    tried.push_back({{std::nullopt, "pthread", run, 1}, sample});
  }
  EXPECT_EQ(execute(plan, runner, notes, 0, nullptr, tried).results.size(), 8u);
  EXPECT_EQ(runner.processes.size(), 3u);
}

}  // namespace
}  // namespace elision::cli::experiment
