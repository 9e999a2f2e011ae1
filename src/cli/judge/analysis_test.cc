// SPDX-License-Identifier: Apache-2.0
// Samples in, rows and sentences out: every verdict, every way of not having a result.
#include "cli/judge/analysis.h"

#include <gtest/gtest.h>

#include <csignal>

#include "cli/judge/comparison_for_test.h"
#include "cli/judge/verdict.h"

namespace elision::cli::experiment {
namespace {

TEST_F(Comparison, ClearWinnerIsNamedWithItsInterval) {
  add_times("pthread", {1.0, 1.02, 0.98});
  add_times("tatas", {0.95, 0.96, 0.97});
  add_times("htm-10", {0.5, 0.5, 0.5});
  const Block result = block();
  EXPECT_EQ(result.verdict.kind, VerdictKind::kUse);
  EXPECT_EQ(result.verdict.sentence, "Use htm-10: 2.00 times as fast as pthread [1.90 - 2.10].");
  EXPECT_TRUE(result.rows[2].best);
  EXPECT_FALSE(result.rows[0].best);
  EXPECT_NEAR(result.rows[2].speedup, 2.0, 0.001);
  EXPECT_DOUBLE_EQ(result.rows[0].value.low, 0.98);
  EXPECT_DOUBLE_EQ(result.rows[0].value.high, 1.02);
}

TEST_F(Comparison, RatiosArePairedByRound) {
  add_times("pthread", {1.0, 10, 100});  // overlaps with tatas, but is slower in every round
  add_times("tatas", {0.5, 5, 50});
  EXPECT_EQ(block().rows[1].ratios, (std::vector<std::optional<double>>{2.0, 2.0, 2.0}));
  EXPECT_EQ(sentence(), "Use tatas: 2.00 times as fast as pthread [2.00 - 2.00].");
}

TEST_F(Comparison, WindowsWithoutSectionsAreLeftOut) {
  plan_.part.kind = Part::Kind::kWindows;
  add_times("pthread", {1.0, 1.0, 1.0, 1.0});
  add_times("tatas", {0.5, 0.5, 0.5, 0.5});
  results_[1].sample.has_no_section = results_[7].sample.has_no_section = true;
  const Block result = block();
  EXPECT_EQ(result.rows[0].runs, 3u);
  EXPECT_EQ(result.rows[1].runs, 3u);
  EXPECT_EQ(result.rows[1].ratios,
            (std::vector<std::optional<double>>{2.0, std::nullopt, 2.0, std::nullopt}));
  EXPECT_EQ(result.verdict.kind, VerdictKind::kUse);
  for (Result& one : results_)
    one.sample.has_no_section = one.sample.has_no_section || one.cell.design == "tatas";
  EXPECT_EQ(block().rows[1].state, RowState::kNoMetric);
  EXPECT_EQ(block().rows[1].remark,
            "took no lock in any window, or ended before: try another --sample-length");
}

TEST_F(Comparison, WindowsAreJudgedByTheSumOfTheirTimes) {
  add_times("pthread", {1.0, 1.0, 1.0, 1.0, 1.0, 4.0});
  add_times("tatas", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  add_times("htm-10", {0.25, 0.25, 0.25, 0.25, 0.25, 4.75});
  EXPECT_NEAR(block().rows[1].speedup, 2.0, 1e-9) << "whole runs: a trimmed mean";
  plan_.part.kind = Part::Kind::kWindows;
  EXPECT_NEAR(block().rows[1].speedup, 3.0, 1e-9);
  EXPECT_NEAR(block().rows[2].speedup, 1.5, 1e-9);
  EXPECT_LT(block().rows[2].interval->low, 1);
}

TEST_F(Comparison, WindowsCountByTheWorkInTheirShareOfTheRun) {
  // Half of the time of the run has a section in 0.1, half in 10. Where sections are frequent, tatas is twice
  // as fast.
  plan_.part.kind = Part::Kind::kWindows;
  add_times("pthread", {0.1, 10, 0.1, 10});
  add_times("tatas", {0.05, 10, 0.05, 10});
  for (Result& result : results_) result.sample.sections_an_instruction = result.cell.run % 2 == 0 ? 10 : 0.1;
  EXPECT_NEAR(block().rows[1].speedup, 4.0 / 3, 1e-9);
}

TEST_F(Comparison, IntervalOfWindowsCoversWhatTheyLeaveOut) {
  plan_.part.kind = Part::Kind::kWindows;
  add_times("pthread", {1.0, 1.0, 1.0, 1.0, 1.0});
  add_times("tatas", {0.5, 0.5, 0.5, 0.5, 0.5});
  const Interval found = *block().rows[1].interval;
  EXPECT_NEAR(found.ratio, 2, 1e-9);
  EXPECT_NEAR(found.low, 2 / kWindowsLeaveOut, 1e-9);
  EXPECT_NEAR(found.high, 2 * kWindowsLeaveOut, 1e-9);
}

TEST_F(Comparison, ColdFirstRoundOnARealCpuDoesNotCount) {
  add_times("pthread", {3.0, 1.0, 1.01, 0.99, 1.0});
  add_times("tatas", {0.5, 0.5, 0.505, 0.495, 0.5});
  results_[0].sample.locks.longest_wait_seconds = 2;
  results_[1].sample.locks.longest_wait_seconds = 1;
  plan_.runs = 5;
  EXPECT_EQ(block().cold_rounds, 0u) << "a virtual machine is never cold";
  plan_.model = false;
  const Block result = block();
  EXPECT_EQ(result.cold_rounds, 1u);
  EXPECT_EQ(result.rows[0].runs, 4u);
  EXPECT_DOUBLE_EQ(result.rows[0].value.high, 1.01);
  EXPECT_DOUBLE_EQ(result.rows[0].locks.longest_wait_seconds, 1);
  EXPECT_EQ(result.verdict.sentence, "Use tatas: 2.00 times as fast as pthread [2.00 - 2.00].");
}

TEST_F(Comparison, DesignThatRanOnlyColdHasNoResult) {
  plan_.model = false;
  plan_.runs = 5;
  add_times("pthread", {3.0, 1.0, 1.01, 0.99, 1.0});
  add_times("tatas", {0.5});
  EXPECT_EQ(block(false).rows[1].state, RowState::kNotRun);
  EXPECT_EQ(block(false).rows[1].remark, "not run after the cold rounds");
}

TEST_F(Comparison, RoundWithoutAPairDoesNotCount) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("tatas", {0.5, 0.5, 0.5, 7});
  EXPECT_EQ(block().rows[1].ratios, (std::vector<std::optional<double>>{2.0, 2.0, 2.0, std::nullopt}));
  EXPECT_EQ(sentence(), "Use tatas: 2.00 times as fast as pthread [2.00 - 2.00].");
}

TEST_F(Comparison, WinnersWithOverlappingIntervalsAreNamedTogether) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("htm-1", {0.50, 0.52, 0.48});
  add_times("htm-10", {0.53, 0.51, 0.49});
  EXPECT_EQ(sentence(),
            "Use htm-1 or htm-10, not shown to be more than 10 % apart: 2.00 times as fast as pthread "
            "[1.81 - 2.21].");
}

TEST_F(Comparison, WinnersMayDifferForSureByAnUnknownAmount) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("htm-10", {0.370, 0.371, 0.369});
  add_times("htm-1", {0.40, 0.42, 0.44});
  EXPECT_GT(block().rows[1].interval->low, block().rows[2].interval->high);
  EXPECT_EQ(sentence(),
            "Use htm-10 or htm-1, not shown to be more than 10 % apart: 2.70 times as fast as pthread "
            "[2.68 - 2.72].");
}

TEST_F(Comparison, WinnersAreNamedTogetherIfTheirDifferenceIsSmall) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("htm-1", {0.500, 0.501, 0.499});
  add_times("htm-10", {0.520, 0.521, 0.519});
  add_times("tatas", {0.600, 0.600, 0.600});
  EXPECT_EQ(sentence(),
            "Use htm-1 or htm-10, less than 10 % apart: 2.00 times as fast as pthread [1.99 - 2.01].");
  plan_.model = false;
  EXPECT_EQ(sentence(), "Use htm-1: 2.00 times as fast as pthread [1.99 - 2.01].");
}

TEST_F(Comparison, GainBelowTheSmallestNamesNoDesign) {
  add_times("pthread", {1.00, 1.01, 0.99});
  add_times("tatas", {0.95, 0.96, 0.945});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kNoGain);
  EXPECT_EQ(
      sentence(),
      "Stay with pthread: no design is more than 10 % faster (best: tatas, 1.05 times as fast as pthread "
      "[1.04 - 1.06]).");
  EXPECT_TRUE(block().rows[0].best);
  plan_.model = false;
  EXPECT_EQ(sentence(), "Use tatas: 1.05 times as fast as pthread [1.04 - 1.06].");
}

TEST_F(Comparison, SmallestGainIsAnother) {
  add_times("pthread", {1.02, 1.021, 1.019});
  add_times("tatas", {1, 1, 1});
  plan_.model = false;
  EXPECT_EQ(
      sentence(),
      "Stay with pthread: no design is more than 3 % faster (best: tatas, 1.02 times as fast as pthread "
      "[1.02 - 1.02]).");
  add_times("ticket", {0.995, 0.990, 0.985});
  EXPECT_EQ(sentence(),
            "Stay with pthread: no design is clearly more than 3 % faster (best: ticket, 1.03 times as fast "
            "as pthread "
            "[1.02 - 1.04]).");
}

TEST_F(Comparison, WideIntervalNamesNoDesign) {
  add_times("pthread", {1.0, 1.1, 0.9});
  add_times("tatas", {0.5, 0.7, 0.9});
  add_times("ticket", {0.99, 1.09, 0.89});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kUnsettled);
  EXPECT_EQ(
      sentence(),
      "Stay with pthread: these runs do not show whether tatas is more than 10 % faster (1.46 times as fast "
      "as pthread [0.61 - 3.51]); more of them (--runs) may.");
  EXPECT_TRUE(block().rows[0].best);
}

TEST_F(Comparison, ReferenceIsBest) {
  add_times("pthread", {1.0, 1.01, 0.99});
  add_times("ticket", {4.0, 4.0, 4.0});
  add_times("tatas", {2.0, 2.0, 2.0});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kKeep);
  EXPECT_EQ(sentence(),
            "Stay with pthread: the next best design, tatas, is 0.50 times as fast as pthread "
            "[0.49 - 0.51].");
}

TEST_F(Comparison, OneRunTellsNothingOfTheInterval) {
  plan_.runs = 1;
  add_times("pthread", {1.0});
  add_times("tatas", {0.5});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kOneRun);
  EXPECT_EQ(
      sentence(),
      "Perhaps tatas: 2.00 times as fast as pthread in the only run; --runs 3 would show how sure that is.");
  results_.back().sample = timed(0.95);
  EXPECT_EQ(
      sentence(),
      "Stay with pthread: no design is more than 10 % faster (best: tatas, 1.05 times as fast as pthread).");
}

TEST_F(Comparison, ClearWinnerPrecedesUncertainBetterAverage) {
  add_times("pthread", {1.0, 1.01, 0.99});
  add_times("tatas", {0.4, 1.2, 0.3});
  add_times("htm-10", {0.6, 0.61, 0.59});
  EXPECT_EQ(block().verdict.design, "htm-10");
  EXPECT_TRUE(block().rows[2].best);
}

using Designs = std::vector<std::string>;

TEST_F(Comparison, DesignsThatMayGainAreUndecided) {
  const auto more = [this] { return undecided(plan_, block_of(plan_, results_, std::nullopt).rows); };
  add_times("pthread", {1.0, 1.02, 0.98});
  add_times("ticket", {2.0, 2.0, 2.0});
  add_times("tatas", {0.99, 1.01, 0.97});
  EXPECT_EQ(more(), Designs{}) << "none gains";
  add_times("htm-1", {0.9, 0.7, 0.95});
  EXPECT_EQ(more(), (Designs{"pthread", "htm-1"}));
  add_times("htm-10", {0.5, 0.51, 0.49});
  EXPECT_EQ(more(), (Designs{"pthread", "htm-10", "htm-1"})) << "with a winner, what may be as good as it";
  results_.clear();
  plan_.designs.clear();
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("htm-1", {0.501, 0.502, 0.503});
  add_times("htm-10", {0.5, 0.5, 0.5});
  EXPECT_EQ(more(), Designs{}) << "both are named";
}

TEST_F(Comparison, APrecisionLeavesDesignsUndecidedUntilTheyAreKnown) {
  const auto more = [this] { return undecided(plan_, block_of(plan_, results_, std::nullopt).rows); };
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("ticket", {2.0, 2.01, 1.99});
  add_times("htm-10", {0.5, 0.4, 0.6});
  plan_.precision = 0.02;
  EXPECT_EQ(more(), (Designs{"pthread", "htm-10"})) << "the worse one is known to 1.3 %";
  plan_.precision = 0.01;
  EXPECT_EQ(more(), (Designs{"pthread", "htm-10", "ticket"}));
  plan_.precision = 1;
  EXPECT_EQ(more(), Designs{}) << "known to a factor of two";
}

TEST_F(Comparison, NothingIsUndecidedIfTheProgramFails) {
  Sample failed = timed(1.0);
  failed.status = 1;
  add("pthread", {failed, failed, failed});
  add_times("tatas", {1.0, 0.5, 2.0});
  EXPECT_EQ(undecided(plan_, block_of(plan_, results_, std::nullopt).rows), Designs{});
}

TEST_F(Comparison, RunsBesideAFailingReferenceAreNoResults) {
  Sample deadlocked = timed(1.0);
  deadlocked.deadlocked = true;
  add("pthread", {deadlocked});
  add_times("tatas", {1.0});
  const Row row = block().rows[1];
  EXPECT_EQ(row.state, RowState::kNotRun);
  EXPECT_EQ(row.remark, "not compared, since pthread has no result");
  EXPECT_TRUE(row.locks.locks_seen);
}

TEST_F(Comparison, FailedDesignCannotWin) {
  Sample failed = timed(0.1);
  failed.status = 3;
  failed.error_output = "first\nassertion failed\n";
  add_times("pthread", {1.0, 1.0, 1.0});
  add("tatas", {timed(0.1), failed, timed(0.1)});
  const Block result = block();
  EXPECT_EQ(result.verdict.kind, VerdictKind::kNoOther);
  EXPECT_EQ(result.rows[1].state, RowState::kFailed);
  EXPECT_EQ(result.rows[1].remark, "ended with exit code 3: assertion failed");
  EXPECT_EQ(result.verdict.sentence, "Stay with pthread: no other design ran to the same end.");
}

TEST_F(Comparison, PartThatWasNotReachedIsNamedWhateverTheProgramSays) {
  const std::string missing = "--start was never reached: the program started 9 of 99 threads";
  Sample failed = timed(0.1);
  failed.status = 2;
  failed.error_output = "done\n";
  failed.missed_part = missing;
  add_times("pthread", {1.0, 1.0, 1.0});
  add("tatas", {failed});
  EXPECT_EQ(block().rows[1].remark, "ended with exit code 2: " + missing);
}

TEST_F(Comparison, ARunWithoutThePartHasNoResultThoughItEndedWell) {
  Sample missed = timed(0.0);
  missed.missed_part = "no process of 'prog' reached the part to simulate";
  add_times("pthread", {1.0, 1.0, 1.0});
  add("tatas", {missed});
  EXPECT_EQ(block().rows[1].state, RowState::kFailed);
  EXPECT_EQ(block().rows[1].remark, missed.missed_part);
}

TEST_F(Comparison, CrashIsNamedByProgramOrReport) {
  const std::string report =
      "elision vm: SIGSEGV (address not mapped) at 0x10 in prog\nelision vm:   #0 0x401136\n";
  Sample silent = timed(0.1), spoke = timed(0.1);
  silent.outcome = spoke.outcome = Outcome::kKilled;
  silent.status = spoke.status = 11;
  silent.error_output = report;
  spoke.error_output = "out of luck\n" + report;
  add_times("pthread", {1.0, 1.0, 1.0});
  add("tatas", {silent, silent, silent});
  add("ticket", {spoke, spoke, spoke});
  const Block result = block();
  EXPECT_EQ(result.rows[1].remark,
            "was killed by Segmentation fault: SIGSEGV (address not mapped) at 0x10 in prog");
  EXPECT_EQ(result.rows[2].remark, "was killed by Segmentation fault: out of luck");
}

TEST_F(Comparison, CrashIsPlacedInTheProgram) {
  const auto remark = [this](const std::string& frames) {
    Sample crashed = timed(0.1);
    crashed.outcome = Outcome::kKilled;
    crashed.status = 11;
    crashed.error_output =
        "elision vm: SIGSEGV (address not mapped) at 0x10 in ./bin/prog, thread 7 \"prog\", CPU 1\n" + frames;
    results_.clear();
    add_times("pthread", {1.0});
    add("tatas", {crashed});
    return block().rows[1].remark;
  };
  const std::string start =
      "was killed by Segmentation fault: SIGSEGV (address not mapped) at 0x10 in ./bin/prog";
  const std::string library = "elision vm:   #0 0x2000 memcpy+0x5 at memcpy.S:44 (libc.so.6)  rep movsb\n";
  EXPECT_EQ(remark(library + "elision vm:   #1 0x1000 update+0x21 at prog.c:12 (prog)\n"),
            start + ", update+0x21 at prog.c:12");
  EXPECT_EQ(remark(library + "elision vm:   #1 0x1000 (prog+0x1136)\n"), start + ", prog+0x1136");
  EXPECT_EQ(remark(library), start);
  EXPECT_EQ(remark("elision vm:   #0 0x1000 f (program)\nelision vm:   rax 00\n"), start);
}

TEST_F(Comparison, ProgramFailingUnderReferenceIsNotCompared) {
  Sample failed = timed(1.0);
  failed.status = 1;
  failed.error_output = "no such table\n";
  add("pthread", {timed(1.0), timed(1.0), failed});
  add_times("tatas", {0.5, 0.5, 0.5});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kNoReference);
  EXPECT_EQ(sentence(),
            "Nothing to compare: under pthread, prog ended with exit code 1; --ignore-failure "
            "compares programs that end so.");
  EXPECT_FALSE(block().rows[0].best || block().rows[1].best);
}

TEST_F(Comparison, DeadlockIsNeverCompared) {
  Sample stuck = timed(0.1);
  stuck.status = 124;
  stuck.deadlocked = true;
  stuck.error_output = "elision vm: deadlock: every thread waits for another\nelision vm:   thread 4242424\n";
  plan_.ignore_failure = true;
  add("pthread", {stuck, stuck, stuck});
  add("tatas", {stuck, stuck, stuck});
  EXPECT_EQ(sentence(),
            "Nothing to compare: under pthread, prog deadlocked: every thread waited for another.");
  for (Result& result : results_) {
    if (result.cell.design == kPthread) result.sample = timed(1.0);
  }
  EXPECT_EQ(block().rows[1].state, RowState::kFailed);
  EXPECT_EQ(block().rows[1].remark, "deadlocked: every thread waited for another");
}

TEST_F(Comparison, ExitCodeIsHeldAgainstTheReferences) {
  plan_.ignore_failure = true;
  Sample one = timed(1.0), one_faster = timed(0.5), zero = timed(0.1);
  one.status = one_faster.status = 1;
  add("pthread", {one, one, one});
  add("tatas", {one_faster, one_faster, one_faster});
  add("ticket", {zero, zero, zero});
  const Block result = block();
  EXPECT_EQ(result.rows[1].state, RowState::kGood);
  EXPECT_EQ(result.rows[2].state, RowState::kFailed);
}

TEST_F(Comparison, KilledOrHangingDesignCannotWin) {
  Sample killed = timed(0.1), hanging = timed(0.1);
  killed.outcome = Outcome::kKilled;
  killed.status = SIGSEGV;
  hanging.outcome = Outcome::kTimedOut;
  hanging.most_seconds = 60;
  add_times("pthread", {1.0, 1.0, 1.0});
  add("tatas", {killed});
  add("ticket", {hanging});
  const Block result = block();
  EXPECT_EQ(result.rows[1].remark, "was killed by Segmentation fault");
  EXPECT_EQ(result.rows[2].state, RowState::kTimedOut);
  EXPECT_EQ(result.rows[2].remark, "did not end within 60 s");
  EXPECT_FALSE(result.rows[1].best || result.rows[2].best);
}

TEST_F(Comparison, TimeLimitIsShownAsGiven) {
  Sample hanging = timed(0.1);
  hanging.outcome = Outcome::kTimedOut;
  add_times("pthread", {1.0, 1.0, 1.0});
  add("tatas", {hanging});
  const auto remark = [this](double seconds) {
    results_.back().sample.most_seconds = seconds;
    return block().rows[1].remark;
  };
  EXPECT_EQ(remark(0.001), "did not end within 0.001 s");
  EXPECT_EQ(remark(2.5), "did not end within 2.5 s");
  EXPECT_EQ(remark(1234.56), "did not end within 1235 s");
}

TEST_F(Comparison, DesignWithOtherOutputCannotWin) {
  Sample lost = timed(0.1);
  lost.output = "total 399\n";
  add_times("pthread", {1.0, 1.0, 1.0});
  add("tatas", {timed(0.1), timed(0.1), lost});
  EXPECT_EQ(block().rows[1].state, RowState::kDifferentOutput);
  EXPECT_EQ(block().rows[1].remark, "printed something else: line 1 is 'total 399' instead of 'total 400'");
  plan_.compare_output = false;
  EXPECT_EQ(block().rows[1].state, RowState::kGood);
}

TEST_F(Comparison, ProgramKilledUnderReferenceIsNotCompared) {
  Sample killed = timed(1.0);
  killed.outcome = Outcome::kKilled;
  killed.status = SIGABRT;
  add("pthread", {killed});
  add_times("tatas", {1.0});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kNoReference);
  EXPECT_EQ(sentence(), "Nothing to compare: under pthread, prog was killed by Aborted.");
}

TEST_F(Comparison, MetricOfZeroIsNotCompared) {
  plan_.metric = "rate ([0-9]+)";
  Sample zero = timed(1.0);
  zero.output = "rate 0\n";
  add("pthread", {zero});
  EXPECT_EQ(sentence(), "Nothing to compare: the result under pthread is zero.");
}

TEST_F(Comparison, MetricMayRiseOrFall) {
  plan_.metric = "rate ([0-9]+)";
  Sample slow = timed(1.0), fast = timed(1.0), none = timed(1.0);
  slow.output = "rate 100\n";
  fast.output = "rate 250\n";
  none.output = "rate -\n";
  add("pthread", {slow, slow, slow});
  add("tatas", {fast, fast, fast});
  add("ticket", {none});
  EXPECT_DOUBLE_EQ(block().rows[1].speedup, 2.5);
  EXPECT_EQ(sentence(), "Use tatas: 2.50 times the result of pthread [2.50 - 2.50].");
  EXPECT_EQ(block().rows[2].state, RowState::kNoMetric);
  plan_.lower_is_better = true;
  EXPECT_DOUBLE_EQ(block().rows[1].speedup, 0.4);
  EXPECT_EQ(sentence(),
            "Stay with pthread: the next best design, tatas, has 2.50 times the result of pthread "
            "[2.50 - 2.50] (less is better).");
  const char* rates[] = {"rate 50\n", "rate 51\n", "rate 49\n"};
  for (Result& result : results_)
    result.sample.output = result.cell.design == "tatas" ? rates[result.cell.run] : "rate 100\n";
  EXPECT_EQ(sentence(), "Use tatas: 0.50 times the result of pthread [0.48 - 0.53] (less is better).");
}

TEST_F(Comparison, StoppedEarlyShowsWhatThereIs) {
  add_times("pthread", {1.0, 1.0});
  add_times("tatas", {0.5});
  add("ticket", {});
  const Block result = block(false);
  EXPECT_EQ(result.rows[1].runs, 1u);
  EXPECT_EQ(result.rows[2].state, RowState::kNotRun);
  EXPECT_EQ(result.verdict.sentence,
            "Stopped early. Perhaps tatas: 2.00 times as fast as pthread in the only run.");
}

TEST_F(Comparison, StoppedBeforeTheReferenceEnded) {
  add("pthread", {});
  add("tatas", {});
  EXPECT_EQ(block(false).verdict.sentence, "Stopped early. Nothing to compare: no run under pthread ended.");
}

TEST_F(Comparison, StoppedBeforeAnotherDesignHadAResultDecidesNothing) {
  Sample failed = timed(0.5);
  failed.status = 1;
  add_times("pthread", {1.0, 1.0});
  add("tatas", {failed});
  add("ticket", {});
  const Block result = block(false);
  EXPECT_EQ(result.rows[1].state, RowState::kFailed);
  EXPECT_EQ(result.verdict.sentence, "Stopped early. Nothing is decided yet: no other design has a result.");
  EXPECT_EQ(result.verdict.design, "");
  EXPECT_FALSE(result.rows[0].best);
}

TEST_F(Comparison, ThreadsWithoutLocksAreNamed) {
  Sample lockless = timed(1.0);
  lockless.locks = {};
  add("pthread", {});
  add("tatas", {});
  plan_.thread_counts = {1u, 2u};
  plan_.why_no_locks = "it has other locks";
  results_ = {{{1u, "pthread"}, lockless}, {{2u, "pthread"}, lockless}};
  const auto sentence_of = [this](std::size_t i) {
    return analyse(plan_, results_, true).at(i).verdict.sentence;
  };
  EXPECT_EQ(
      sentence_of(1),
      "With 2 threads, prog took no lock that Elision can replace (it has other locks), so the design of "
      "the lock makes no difference to it.");
  results_[1].sample = timed(1.0);
  EXPECT_EQ(
      sentence_of(0),
      "With 1 thread, prog took no lock that Elision can replace in this run, so the design of the lock "
      "makes no difference to it.");
}

TEST_F(Comparison, DesignLeftOutSaysWhy) {
  plan_.not_run["tatas-aahtm"] = "needs a flag";
  add_times("pthread", {1.0, 1.0, 1.0});
  add("tatas-aahtm", {});
  EXPECT_EQ(block().rows[1].remark, "needs a flag");
}

TEST_F(Comparison, CountsAreMedianAndLongestWaitIsMaximum) {
  Sample low = timed(0.9), middle = timed(1.0), high = timed(1.1);
  low.locks.commits = 1;
  middle.locks.commits = 2;
  high.locks.commits = 3;
  high.locks.longest_wait_seconds = 0.5;
  add("pthread", {high, low, middle});
  const Row row = block().rows[0];
  EXPECT_EQ(row.locks.commits, 2u);
  EXPECT_DOUBLE_EQ(row.locks.longest_wait_seconds, 0.5);
  EXPECT_DOUBLE_EQ(row.cpu_seconds, 2.0);
}

}  // namespace
}  // namespace elision::cli::experiment
