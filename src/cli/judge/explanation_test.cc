// SPDX-License-Identifier: Apache-2.0
// Profiles in, reports and next steps out.
#include "cli/judge/explanation.h"

#include <gtest/gtest.h>

#include <csignal>

#include "cli/judge/comparison_for_test.h"

namespace elision::cli::experiment {
namespace {

profile::Place place(std::uint64_t address, const std::string& name, const std::string& file = "",
                     std::uint32_t line = 0) {
  return {address, name, file, line};
}

/// Two threads that wait for one lock half of their time.
profile::Profile contended() {
  profile::Profile profile;
  profile.exact = true;
  profile.wall_ns = profile.parallel_ns = 1000;
  profile.most_threads = 2;
  profile.cpus = 8;
  profile::time_in(profile.times, profile::State::kSection) = 1000;
  profile::time_in(profile.times, profile::State::kWaiting) = 1000;
  profile::Lock lock;
  lock.place = place(0x1000, "queue_lock");
  lock.acquisitions = 10;
  lock.contended = 5;
  lock.waits_ns = profile::time_in(lock.times, profile::State::kWaiting) = 1000;
  lock.holds_ns = 1000;
  profile.locks = {lock};
  return profile;
}

/// A comparison in which htm-10 is twice as fast, with both profiles.
class Explained : public Comparison {
 protected:
  Explained() {
    add_times("pthread", {1.0, 1.0, 1.0});
    add_times("htm-10", {0.5, 0.5, 0.5});
  }

  std::vector<Block> explained(const profile::Profile& elided) {
    std::vector<Block> blocks = {block()};
    Result plain{{std::nullopt, "pthread", 0}, timed(1)}, other{{std::nullopt, "htm-10", 0}, timed(1)};
    plain.sample.profile = contended();
    other.sample.profile = elided;
    experiment::explain(blocks, {plain, other});
    return blocks;
  }
};

TEST_F(Explained, NumbersThatWereNotCountedAreUnknown) {
  profile::Profile elided = contended();
  profile::Lock& lock = elided.locks.front();
  lock.longest_wait_ns = 200;
  const auto report = [&] { return explained(elided).front().rows[1].why->locks.front(); };
  EXPECT_EQ(report().contended_share, 0.5);
  EXPECT_DOUBLE_EQ(report().mean_wait_seconds.value_or(0), 200e-9);
  EXPECT_DOUBLE_EQ(report().longest_wait_seconds.value_or(0), 200e-9);
  lock.longest_wait_ns = 199;
  EXPECT_EQ(report().longest_wait_seconds, std::nullopt) << "below the mean";
  lock.longest_wait_ns = 0;
  EXPECT_EQ(report().longest_wait_seconds, std::nullopt);
  lock.contended = 0;
  EXPECT_EQ(report().contended_share, std::nullopt) << "samples saw waits";
  EXPECT_EQ(report().mean_wait_seconds, std::nullopt);
  lock.waits_ns = 0;
  EXPECT_EQ(report().contended_share, 0);
}

TEST_F(Explained, LockHasOneNameInAllRuns) {
  const auto taken_in = [](const char* function, std::uint32_t line) {
    profile::Profile profile = contended();
    profile.locks.front().place.name.clear();
    profile.locks.front().site = place(0x400 + line, function, "lru.cc", line);
    return profile;
  };
  const auto line_under_htm = [&](bool exact) {
    Result plain{{std::nullopt, "pthread", 0}, timed(1)}, elided{{std::nullopt, "htm-10", 0}, timed(1)};
    plain.sample.profile = taken_in("get", 16);
    elided.sample.profile = taken_in("put", 25);
    plain.sample.profile->exact = elided.sample.profile->exact = exact;
    plain.sample.profile->samples = elided.sample.profile->samples = 1000;
    std::vector<Block> blocks = {block()};
    experiment::explain(blocks, {plain, elided});
    return blocks.front().rows[1].why->locks.front().place.line;
  };
  EXPECT_EQ(line_under_htm(true), 16u);
  EXPECT_EQ(line_under_htm(false), 25u) << "on a real CPU, addresses differ from run to run";
}

TEST_F(Explained, LockHasOneNameAlsoWhereSeedsAndSoAddressesDiffer) {
  const profile::Place get = place(0x410, "get", "lru.cc", 16), put = place(0x419, "put", "lru.cc", 25);
  const auto taken_in = [](const profile::Place& most, std::vector<profile::Place> others,
                           std::uint64_t address) {
    profile::Profile profile = contended();
    profile.locks.front().place = place(address, "");
    profile.locks.front().site = most;
    profile.locks.front().other_sites = std::move(others);
    return profile;
  };
  const auto under_htm = [&](const profile::Profile& reference, const profile::Profile& run) {
    Result plain{{std::nullopt, "pthread", 0, 1}, timed(1)}, elided{{std::nullopt, "htm-10", 0, 2}, timed(1)};
    plain.sample.profile = reference;
    elided.sample.profile = run;
    std::vector<Block> blocks = {block()};
    experiment::explain(blocks, {plain, elided});
    return blocks.front().rows[1].why->locks.front();
  };
  const LockReport both = under_htm(taken_in(get, {put}, 0x1000), taken_in(put, {get}, 0x2000));
  EXPECT_EQ(both.place.line, 16u);
  ASSERT_EQ(both.other_sites.size(), 1u);
  EXPECT_EQ(both.other_sites[0].line, 25u);
  EXPECT_EQ(under_htm(taken_in(get, {put}, 0x1000), taken_in(put, {}, 0x2000)).place.line, 16u);
  EXPECT_EQ(under_htm(taken_in(get, {}, 0x1000), taken_in(put, {get}, 0x2000)).place.line, 16u);
  EXPECT_EQ(under_htm(taken_in(get, {}, 0x1000), taken_in(put, {}, 0x2000)).place.line, 25u);
  EXPECT_EQ(under_htm(taken_in(get, {}, 0x1000), taken_in(put, {}, 0x1000)).place.line, 25u) << "by chance";
}

TEST_F(Explained, LocksThatShareACallSiteAreNotTakenForEachOther) {
  const profile::Place get = place(0x410, "get", "a.cc", 16), put = place(0x419, "put", "a.cc", 25),
                       both = place(0x430, "transfer", "a.cc", 40);
  const auto two = [](const profile::Place& first, const profile::Place& first_other,
                      const profile::Place& second, const profile::Place& second_other) {
    profile::Profile profile = contended();
    profile.locks.resize(2, profile.locks.front());
    for (profile::Lock& lock : profile.locks) lock.place.name.clear();
    profile.locks[0].site = first, profile.locks[0].other_sites = {first_other};
    profile.locks[1].site = second, profile.locks[1].other_sites = {second_other};
    return profile;
  };
  Result plain{{std::nullopt, "pthread", 0, 1}, timed(1)}, elided{{std::nullopt, "htm-10", 0, 2}, timed(1)};
  plain.sample.profile = two(get, both, put, both);
  elided.sample.profile = two(both, put, both, get);
  std::vector<Block> blocks = {block()};
  experiment::explain(blocks, {plain, elided});
  const std::vector<LockReport>& locks = blocks.front().rows[1].why->locks;
  EXPECT_EQ(locks[0].place.line, 25u);
  EXPECT_EQ(locks[1].place.line, 16u);
}

TEST_F(Explained, LockWithANameShowsWhereItIsTaken) {
  profile::Profile elided = contended();
  elided.locks.front().site = place(0x400, "push", "queue.cc", 15);
  const LockReport lock = explained(elided).front().rows[1].why->locks.front();
  EXPECT_EQ(lock.place.name, "queue_lock");
  EXPECT_EQ(lock.place.file, "queue.cc");
  EXPECT_EQ(lock.place.line, 15u);
}

TEST_F(Explained, TenLocksAreReported) {
  profile::Profile elided = contended();
  elided.locks.resize(20, elided.locks.front());
  EXPECT_EQ(explained(elided).front().rows[1].why->locks.size(), 10u);
  EXPECT_EQ(explained(elided).front().rows[1].why->lock_count, 20u);
}

TEST_F(Explained, LocksWithMostLostTimeAreAmongTheTen) {
  profile::Profile elided = contended();
  elided.locks.resize(20, elided.locks.front());
  elided.locks[19].place.name = "aborting_lock";
  elided.locks[19].waits_ns = profile::time_in(elided.locks[19].times, profile::State::kWaiting) = 0;
  elided.locks[19].aborted_ns = profile::time_in(elided.locks[19].times, profile::State::kAborted) = 5000;
  const std::vector<LockReport> locks = explained(elided).front().rows[1].why->locks;
  EXPECT_EQ(locks.size(), 10u);
  EXPECT_EQ(locks.back().place.name, "aborting_lock");
  EXPECT_EQ(locks.back().aborted_seconds, 5e-6);
}

TEST_F(Explained, TimeLostAtALockIsTheSumOfItsStates) {
  profile::Profile elided = contended();
  profile::Lock& lock = elided.locks.front();
  lock.waits_ns = 1700;  // aborted attempts and overhead included
  time_in(lock.times, profile::State::kSpeculating) = 50;
  time_in(lock.times, profile::State::kAborted) = 300;
  time_in(lock.times, profile::State::kOverhead) = time_in(elided.times, profile::State::kOverhead) = 400;
  elided.threads.resize(1);
  elided.paths = {{profile::State::kOverhead, 0, 0, {}, 900, 3}};  // of all of the run
  const LockReport report = explained(elided).front().rows[1].why->locks.front();
  EXPECT_DOUBLE_EQ(report.lost_seconds, 1.75e-6);
  EXPECT_DOUBLE_EQ(report.waiting_seconds, 1.05e-6);
  EXPECT_DOUBLE_EQ(report.aborted_seconds, 3e-7);
  EXPECT_DOUBLE_EQ(report.overhead_seconds.value_or(0), 4e-7);
}

TEST_F(Explained, OverheadThatNoLockHasIsNotKnownByLock) {
  profile::Profile elided = contended();
  const auto overhead = [&] { return explained(elided).front().rows[1].why->locks.front().overhead_seconds; };
  EXPECT_EQ(overhead(), 0);
  time_in(elided.times, profile::State::kOverhead) = 10;
  EXPECT_EQ(overhead(), std::nullopt);
}

TEST_F(Explained, WinnerIsTheLastStepWithItsCommand) {
  const std::vector<Block> blocks = explained(contended());
  const std::vector<NextStep> steps = next_steps(plan_, blocks, {true, ""});
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back().sentence,
            "Unless your machine is like this one, compare with --machine native first. Then run it with "
            "htm-10:");
  EXPECT_EQ(steps.back().command, "elision run --lock htm-10 -- prog");
}

/// htm-10 in transactions that commit.
profile::Profile committed() {
  profile::Profile profile = contended();
  profile.locks.front().attempts = profile.locks.front().commits = 10;
  return profile;
}

class Slower : public Explained {
 protected:
  profile::Cause cause_with(const std::vector<double>& seconds) {
    for (std::size_t i = 0; i < seconds.size(); ++i) results_[3 + i].sample = timed(seconds[i]);
    return explained(committed()).front().diagnosis->findings.front().cause;
  }
};

TEST_F(Slower, IntervalDecidesWhetherElisionCostsMoreThanItSaves) {
  EXPECT_EQ(cause_with({1.1, 1.11, 1.12}), profile::Cause::kShortSections);
  EXPECT_EQ(cause_with({1.3, 1.1, 0.9}), profile::Cause::kRareConflicts);
}

TEST_F(Explained, WithoutTransactionsHereTheStepSaysWhere) {
  const std::vector<NextStep> steps =
      next_steps(plan_, explained(contended()), {false, "This CPU has no transactions"});
  EXPECT_EQ(
      steps.back().sentence,
      "This CPU has no transactions, and htm-10 needs transactions: it may help on the machine that was "
      "simulated, or on a Xeon from Ice Lake on. On this CPU, keep the program's own locks. On a CPU with "
      "transactions:");
  plan_.model = false;
  EXPECT_EQ(
      next_steps(plan_, explained(contended()), {false, "This CPU has no transactions"}).back().sentence,
      "This CPU has no transactions, and htm-10 needs transactions: it may help on a Xeon from Ice Lake "
      "on. On this CPU, keep the program's own locks. On a CPU with transactions:");
}

TEST_F(Explained, WhereALockIsToBlameTheTimeIsNotElsewhere) {
  std::vector<Block> blocks = explained(contended());
  blocks.front().verdict = {VerdictKind::kNoGain, "Stay with pthread.", kPthread};
  blocks.front().diagnosis->locks_matter = false;
  const auto looks_elsewhere = [&] {
    const std::vector<NextStep> steps = next_steps(plan_, blocks, {true, ""});
    return std::any_of(steps.begin(), steps.end(), [](const NextStep& step) {
      return step.sentence.starts_with("Look for the time elsewhere");
    });
  };
  blocks.front().diagnosis->findings = {{profile::Cause::kMostlySerial, "", "Why.", "Change."}};
  EXPECT_TRUE(looks_elsewhere());
  blocks.front().diagnosis->findings = {{profile::Cause::kFalseSharing, "m", "Why.", "Change."}};
  EXPECT_FALSE(looks_elsewhere());
}

TEST_F(Explained, WhereSectionsConflictTheStepSaysThatTheModelIsLeastExact) {
  std::vector<Block> blocks = explained(contended());
  const auto step = [&](profile::Cause cause, bool has_transactions) {
    blocks.front().diagnosis->findings = {{cause, "m", "Why.", ""}};
    return next_steps(plan_, blocks, {has_transactions, "This CPU has no transactions"}).back().sentence;
  };
  using profile::Cause;
  for (const Cause cause : {Cause::kTrueSharing, Cause::kFalseSharing, Cause::kPrefetch, Cause::kDataAtLock,
                            Cause::kContendedLine}) {
    EXPECT_EQ(
        step(cause, true),
        "Compare with --machine native first, since sections conflict, and there the virtual machine is "
        "least exact. Then run it with htm-10:");
    EXPECT_EQ(
        step(cause, false),
        "This CPU has no transactions, and htm-10 needs transactions: it may help on the machine that was "
        "simulated, or on a Xeon from Ice Lake on; compare there first, since sections conflict, and there "
        "the "
        "virtual machine is least exact. On this CPU, keep the program's own locks. On a CPU with "
        "transactions:");
  }
  EXPECT_EQ(step(Cause::kTooLong, true).find("least exact"), std::string::npos);
  plan_.model = false;
  EXPECT_EQ(step(Cause::kTrueSharing, true), "Run it with htm-10:");
}

class WithoutTransactionsHere : public Comparison {
 protected:
  std::vector<NextStep> steps() {
    return next_steps(plan_, {block()}, {false, "This CPU has no transactions"});
  }
};

TEST_F(WithoutTransactionsHere, ClearGainOfAnotherDesignIsNamed) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("htm-10", {0.5, 0.5, 0.5});
  add_times("tatas", {0.95, 0.95, 0.95});
  EXPECT_EQ(steps().size(), 1u) << "tatas gains too little";
  EXPECT_NE(
      steps()[0].sentence.find(" On this CPU, keep the program's own locks. On a CPU with transactions:"),
      std::string::npos);
  add_times("ticket", {0.8, 0.8, 0.8});
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_EQ(steps()[0].sentence.find("On this CPU"), std::string::npos);
  EXPECT_EQ(steps()[0].command, "elision run --lock htm-10 -- prog");
  EXPECT_EQ(steps()[1].sentence,
            "Without transactions, ticket is best: 1.25 times as fast as pthread [1.25 - 1.25]. Unless your "
            "machine is like this one, "
            "compare with --machine native first. Then run it with ticket:");
  EXPECT_EQ(steps()[1].command, "elision run --lock ticket -- prog");
}

TEST_F(WithoutTransactionsHere, WinnerThatNeedsNoneIsNamedOnce) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("ticket", {0.5, 0.5, 0.5});
  ASSERT_EQ(steps().size(), 1u);
  EXPECT_EQ(steps()[0].command, "elision run --lock ticket -- prog");
}

TEST_F(Varied, DesignForThisCpuGainsInEveryVariation) {
  vary("a.b", {0, 1});
  add("pthread", {1, 1});
  add("htm-10", {0.5, 0.5});
  add("ticket", {0.7, 1.1});
  const ThisCpu cpu{false, "This CPU has no transactions"};
  EXPECT_EQ(next_steps(plan_, {block()}, cpu).size(), 1u);
  result("ticket", 1).sample.seconds = 0.9;
  ASSERT_EQ(next_steps(plan_, {block()}, cpu).size(), 2u);
  EXPECT_EQ(next_steps(plan_, {block()}, cpu)[1].command, "elision run --lock ticket -- prog");
}

TEST_F(Explained, LocksWithOneCauseHaveOneStep) {
  profile::Profile elided = contended();
  profile::Lock& lock = elided.locks.front();
  lock.attempts = 10;
  lock.aborts = {{"capacity", 9}};
  std::vector<Block> blocks = explained(elided);
  ASSERT_EQ(blocks.front().diagnosis->findings.size(), 1u);
  const std::size_t steps = next_steps(plan_, blocks, {true, ""}).size();
  profile::Finding other = blocks.front().diagnosis->findings.front();
  ASSERT_NE(other.change, "");
  other.lock = "other_lock";
  blocks.front().diagnosis->findings.push_back(other);
  EXPECT_EQ(next_steps(plan_, blocks, {true, ""}).size(), steps);
}

TEST_F(Explained, TooShortARunSaysHowLongItMustBe) {
  std::vector<Block> blocks = {block()};
  Result plain{{std::nullopt, "pthread", 0}, timed(1)};
  plain.sample.profile = contended();
  plain.sample.profile->exact = false;
  plain.sample.profile->samples = 90;
  experiment::explain(blocks, {plain});
  EXPECT_FALSE(blocks[0].diagnosis);
  ASSERT_TRUE(blocks[0].unexplained);
  EXPECT_EQ(why_none(*blocks[0].unexplained),
            "The run was too short to say why: 90 of the 200 samples that it takes.");
  const std::vector<NextStep> steps = next_steps(plan_, blocks, {true, ""});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].command, "elision run --lock htm-10 -- prog");
  EXPECT_EQ(steps[1].sentence, "Let the program work 3 times as long, so that this comparison can say why.");
}

TEST_F(Explained, FailedRunIsToldAndExplainsNothing) {
  std::vector<Block> blocks = {block()};
  Result plain{{8, "pthread", 0}, timed(1)};
  blocks[0].threads = 8;
  plain.sample.profile = contended();
  plain.sample.outcome = Outcome::kKilled;
  plain.sample.status = SIGSEGV;
  experiment::explain(blocks, {plain});
  EXPECT_FALSE(blocks[0].diagnosis);
  EXPECT_EQ(failed_runs({plain}),
            std::vector<std::string>{"no reasons for pthread with 8 threads: the run for them was killed by "
                                     "Segmentation fault"});
}

class NextSteps : public Comparison {
 protected:
  std::vector<std::string> steps() {
    std::vector<std::string> sentences;
    for (const NextStep& step : next_steps(plan_, {block()}, {true, ""})) sentences.push_back(step.sentence);
    return sentences;
  }
};

TEST_F(NextSteps, WithoutAProfileTheWinnerIsRun) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("ticket", {0.5, 0.5, 0.5});
  plan_.model = false;
  EXPECT_EQ(steps(), std::vector<std::string>{"Run it with ticket:"});
}

TEST_F(NextSteps, WithoutAGainNothingChanges) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("ticket", {1.0, 1.0, 1.0});
  EXPECT_EQ(steps(), std::vector<std::string>{"Change nothing: the program's own locks do as well as any."});
}

TEST_F(NextSteps, ProgramThatWaitsForItsLocksHasSomethingToChange) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("ticket", {1.0, 1.0, 1.0});
  Block waiting = block();
  waiting.diagnosis = profile::Diagnosis{true, 0.7, "Threads wait for locks.", {}};
  const std::vector<NextStep> found = next_steps(plan_, {waiting}, {true, ""});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found.front().sentence.starts_with("Take work out of the sections, or split the lock"));
}

TEST_F(NextSteps, DesignsWithoutAResultDoNotSpeakForTheProgramsOwnLocks) {
  Sample hanging = timed(1.0);
  hanging.outcome = Outcome::kTimedOut;
  add_times("pthread", {1.0, 1.0, 1.0});
  add("htm-10", {hanging});
  EXPECT_EQ(steps(),
            std::vector<std::string>{"Compare other designs (--locks): those of this comparison have "
                                     "no result, and their rows say why."});
}

TEST_F(NextSteps, OpenComparisonsWantMoreRuns) {
  add_times("pthread", {1.0, 1.0, 1.0});
  add_times("ticket", {0.9, 0.5, 1.4});
  plan_.most_runs = 12;
  plan_.options = {"--runs", "3", "--locks", "ticket", "--runs=4"};
  plan_.command = "bin/elision";
  const std::vector<NextStep> more = next_steps(plan_, {block()}, {true, ""});
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].sentence, "Compare again with more runs:");
  EXPECT_EQ(more[0].command, "bin/elision compare --runs 24 --locks ticket -- prog");
  plan_.budget_seconds = 90;
  plan_.options = {"--budget", "90s", "--locks", "ticket"};
  EXPECT_EQ(next_steps(plan_, {block()}, {true, ""})[0].command,
            "bin/elision compare --budget 180s --locks ticket -- prog");
  plan_.budget_seconds = 0;
  plan_.most_runs = 600;
  EXPECT_NE(next_steps(plan_, {block()}, {true, ""})[0].command.find("--runs 1000 "), std::string::npos);
  plan_.most_runs = 1000;
  EXPECT_EQ(next_steps(plan_, {block()}, {true, ""})[0].command, "") << "--runs takes no more";
  plan_.most_runs = 12;
  plan_.model = false;
  EXPECT_EQ(steps(),
            std::vector<std::string>{"Compare again with more runs, while the computer does nothing else:"});
}

TEST_F(NextSteps, FewerRunsThanTheDefaultLeadToIt) {
  add_times("pthread", {1.0, 1.0});
  add_times("ticket", {0.9, 0.5});
  plan_.model = false;
  plan_.runs = 2;
  plan_.options = {"--runs", "2"};
  const auto command = [this] { return next_steps(plan_, {block()}, {true, ""}).at(0).command; };
  EXPECT_EQ(command(), "elision compare -- prog");
  plan_.runs = 5;
  EXPECT_EQ(command(), "elision compare --runs 10 -- prog");
}

TEST_F(NextSteps, WithoutAResultThereIsNone) {
  Sample failed = timed(1.0);
  failed.status = 1;
  add("pthread", {failed});
  add_times("ticket", {1.0});
  EXPECT_EQ(steps(), std::vector<std::string>{});
}

TEST_F(Explained, TheReferenceAndTheBestDesignsRunOnceMore) {
  add_times("ticket", {2.0, 2.0, 2.0});
  std::vector<std::string> designs;
  for (const Cell& cell : cells_to_explain(plan_, {block()})) designs.push_back(cell.design);
  EXPECT_EQ(designs, (std::vector<std::string>{"pthread", "htm-10"}));
}

TEST_F(Explained, TheRunOfTheMedianIsTheOneThatRunsOnceMore) {
  plan_.first_seed = 7;
  Block seen = block();
  seen.rows.front().values = {1.0, 1.5, 9.0};
  seen.rows.front().value.median = 1.5;
  const std::vector<Cell> cells = cells_to_explain(plan_, {seen});
  EXPECT_EQ(cells.front().run, 1u);
  EXPECT_EQ(cells.front().seed, 8u);
}

TEST_F(Explained, OtherOutputMayBeThatOfOtherThreadOrder) {
  plan_.options = {"--runs", "3"};
  std::vector<Block> blocks = {block()};
  EXPECT_EQ(next_steps(plan_, blocks, {true, ""}).size(), 1u);
  blocks[0].rows.back().state = RowState::kDifferentOutput;
  const std::vector<NextStep> steps = next_steps(plan_, blocks, {true, ""});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].command, "elision compare --ignore-output --runs 3 -- prog");
}

TEST_F(Explained, ARunWithOneThreadIsNotTooShort) {
  const auto reason = [this](bool exact, double seconds, double parallel_ns) {
    std::vector<Block> blocks = {block()};
    Result plain{{std::nullopt, "pthread", 0}, timed(1)};
    plain.sample.profile = profile::Profile{};
    plain.sample.profile->exact = exact;
    plain.sample.profile->wall_ns = 1e9 * seconds;
    plain.sample.profile->parallel_ns = parallel_ns;
    experiment::explain(blocks, {plain});
    return why_none(*blocks[0].unexplained) + " " + next_steps(plan_, blocks, {true, ""}).back().sentence;
  };
  const std::string one_thread =
      "No two threads of the program were alive at once, so none waited for another. Compare it with as many "
      "threads as in production: one thread shows what a lock costs, not how long others wait for it.";
  EXPECT_EQ(reason(true, 0.001, 0), one_thread);
  EXPECT_EQ(reason(false, 1, 0), one_thread);
  EXPECT_NE(reason(false, 0.01, 0), one_thread) << "20 looks may have missed the threads";
  EXPECT_NE(reason(false, 1, 1e6), one_thread);
}

TEST_F(Explained, LongerRunsAreLookedAtLessOften) {
  std::vector<Block> blocks = {block()};
  blocks[0].unexplained = Unexplained{100, 1};
  const auto advice = [&] { return next_steps(plan_, blocks, {true, ""}).back().sentence; };
  EXPECT_EQ(advice(), "Let the program work 4 times as long, so that this comparison can say why.")
      << "2 s have as many looks as 1 s";
  blocks[0].unexplained = Unexplained{0, 1};
  EXPECT_EQ(advice(), "Let the program work longer, so that this comparison can say why.");
}

TEST_F(Explained, ReferenceWithoutAResultLeadsToNoCommand) {
  std::vector<Block> blocks = explained(contended());
  blocks[0].verdict = {VerdictKind::kNoReference, "Nothing to compare.", ""};
  EXPECT_TRUE(cells_to_explain(plan_, blocks).empty());
  for (const NextStep& step : next_steps(plan_, blocks, {true, ""})) EXPECT_EQ(step.command, "");
}

}  // namespace
}  // namespace elision::cli::experiment
