// SPDX-License-Identifier: Apache-2.0
#include "profile/analysis.h"

#include <gtest/gtest.h>

#include "profile/profile_json.h"

namespace elision::profile {
namespace {

Lock lock_named(const std::string& name, double waits_ns) {
  Lock lock;
  lock.place = {name == "cold" ? 0x10000u : 64u, name};
  lock.acquisitions = 100;
  lock.contended = 50;
  lock.waits_ns = waits_ns;
  lock.holds_ns = 400;
  return lock;
}

/// 1000 ns of each of four threads, `waiting` ns of them for the lock "hot".
Profile waiting_for(double waiting) {
  Profile profile;
  profile.exact = true;
  profile.wall_ns = profile.parallel_ns = 1000;
  profile.most_threads = 5;
  profile.cpus = 8;
  time_in(profile.times, State::kWaiting) = waiting;
  time_in(profile.times, State::kOutside) = 4000 - waiting;
  profile.locks = {lock_named("hot", waiting), lock_named("cold", 0)};
  return profile;
}

/// The same program with `hot` elided, alone; `aborts` of 100 attempts by `cause`.
Profile elided(const char* cause, double aborts) {
  Profile profile = waiting_for(100);
  Lock& hot = profile.locks.front();
  hot.attempts = 100;
  hot.commits = 100 - aborts;
  hot.aborts[cause] = aborts;
  return profile;
}

std::string first_code(const Diagnosis& diagnosis) {
  return diagnosis.findings.empty() ? "" : code_of(diagnosis.findings.front().cause);
}

Diagnosis diagnose_elided(const Profile& plain, const Profile& profile, double speedup = 1,
                          std::optional<double> highest_speedup = std::nullopt) {
  const ElidedRun run{profile, "htm-10", 10, speedup, highest_speedup};
  return diagnose(plain, &run);
}

std::string first_sentence(const Diagnosis& diagnosis) {
  return diagnosis.findings.empty() ? "" : diagnosis.findings.front().sentence;
}

TEST(Diagnose, LittleWaitingMeansThatLocksDoNotMatter) {
  const Diagnosis little = diagnose(waiting_for(4000 * 0.029), nullptr);
  EXPECT_FALSE(little.locks_matter);
  EXPECT_TRUE(little.findings.empty());
  EXPECT_EQ(little.sentence,
            "Locks do not matter here: threads wait for them in 3 % of their time, so shorter waits can gain "
            "little.");
  EXPECT_TRUE(diagnose(waiting_for(4000 * 0.031), nullptr).locks_matter);
}

TEST(Diagnose, AGainWithoutWaitingIsTheCostOfFreeLocks) {
  const Profile plain = waiting_for(40), run = elided("conflict", 1);
  EXPECT_EQ(
      diagnose_elided(plain, run, 1.4).sentence,
      "Threads wait for locks in only 1 % of their time. What htm-10 gains beyond that is no waiting that "
      "is seen: taking free locks costs time too, and threads that spin on trylock count as outside.");
  EXPECT_FALSE(diagnose_elided(plain, run, 1.4).locks_matter);
  EXPECT_TRUE(diagnose_elided(plain, run, 1.09).sentence.starts_with("Locks do not matter here"));
}

TEST(Diagnose, LittleWaitingBetweenLongSleepsDoesNotMatter) {
  Profile profile = waiting_for(39);
  time_in(profile.times, State::kOutside) = 100;
  time_in(profile.times, State::kBlocked) = 3861;
  EXPECT_FALSE(diagnose(profile, nullptr).locks_matter);
  time_in(profile.times, State::kWaiting) = 41;
  EXPECT_TRUE(diagnose(profile, nullptr).locks_matter);
}

TEST(Diagnose, BlockedTimeIsNoTimeWithWork) {
  Profile profile = waiting_for(100);
  time_in(profile.times, State::kOutside) = 900;
  time_in(profile.times, State::kBlocked) = 3000;
  const Diagnosis diagnosis = diagnose(profile, nullptr);
  EXPECT_DOUBLE_EQ(diagnosis.wait_share, 0.1);
  EXPECT_EQ(first_code(diagnosis), "mostly-blocked");
}

TEST(Diagnose, NamesTheLockWithTheWaiting) {
  const Diagnosis diagnosis = diagnose(waiting_for(2000), nullptr);
  EXPECT_EQ(diagnosis.sentence,
            "Threads wait for locks in 50 % of their time, 100 % of it for hot, one of 2 locks.");
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings.front().lock, "hot");
  EXPECT_EQ(first_code(diagnosis), "held-long");
}

TEST(Diagnose, AbortsTellWhatIsInTheWay) {
  const Profile plain = waiting_for(2000);
  const auto code = [&](const Profile& tried) { return first_code(diagnose_elided(plain, tried)); };
  EXPECT_EQ(code(elided("conflict", 9)), "rare-conflicts");
  EXPECT_EQ(code(elided("lock-busy", 60)), "rare-conflicts");
  EXPECT_EQ(code(elided("capacity", 60)), "too-long");
  EXPECT_EQ(code(elided("other", 60)), "system-calls");
  EXPECT_EQ(code(elided("conflict", 60)), "lock-taken") << "no conflict of accesses was seen";
  Profile sampled = elided("conflict", 60);
  sampled.exact = false;
  EXPECT_EQ(code(sampled), "true-sharing");
  Profile apart = elided("conflict", 60);
  apart.locks.front().conflicts_seen.count = 40;
  apart.locks.front().conflicts_seen.apart = 30;
  EXPECT_EQ(code(apart), "false-sharing");
  apart.locks.front().conflicts_seen.apart = 19;
  EXPECT_EQ(code(apart), "true-sharing");
}

TEST(Diagnose, TellsOfConflictsWithBothSides) {
  const Profile plain = waiting_for(2000);
  Profile tried = elided("conflict", 60);
  tried.exact = false;
  EXPECT_EQ(diagnose_elided(plain, tried).findings.front().sentence,
            "Sections under hot conflict: they write the same data or, which only a virtual machine tells "
            "apart, data in one "
            "cache line.");
  tried.exact = true;
  tried.locks.front().conflicts_seen.count = 40;
  tried.locks.front().conflicts = {{{512, "count"}, {1, "get", "map.c", 7}, {2, "put", "map.c", 9}, {40}}};
  const Diagnosis diagnosis = diagnose_elided(plain, tried);
  EXPECT_EQ(diagnosis.findings.front().sentence,
            "Sections under hot conflict on the same data, most often at count: get (map.c:7) against put "
            "(map.c:9).");
  EXPECT_FALSE(diagnosis.findings.front().change.empty());
}

/// A conflict on "NAME" that was met `count` times, `apart` of them on different data.
Conflict conflict_on(const std::string& name, double count, double apart) {
  return {{1, name}, {2, "here"}, {3, "there"}, {count, apart}};
}

TEST(Diagnose, WhatNoSectionCanDoOutranksConflictsBeforeIt) {
  Profile tried = elided("conflict", 90);
  Lock& hot = tried.locks.front();
  hot.commits = 0, hot.fallbacks = 40;
  hot.conflicts_seen.count = 90;
  hot.aborts["other"] = 10;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "system-calls");
  hot.aborts["other"] = 9;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "true-sharing");
  hot.aborts["other"] = 10, hot.commits = 1;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "true-sharing") << "some can";
}

TEST(Diagnose, SystemCallsThatAreKnownOutrankConflicts) {
  Profile plain = waiting_for(2000), tried = elided("conflict", 90);
  tried.locks.front().conflicts_seen.count = 90;
  plain.locks.front().system_calls = 50;
  EXPECT_EQ(first_sentence(diagnose_elided(plain, tried)),
            "Sections under hot make system calls: 0.5 a section.");
  tried.locks.front().commits = 50;
  EXPECT_EQ(first_code(diagnose_elided(plain, tried)), "true-sharing") << "the other half commits";
  tried.locks.front().commits = 10;
  plain.locks.front().system_calls = 49;
  EXPECT_EQ(first_code(diagnose_elided(plain, tried)), "true-sharing");
}

TEST(Diagnose, SectionsThatCommitInTheEndAreNotTooLong) {
  Profile tried = elided("capacity", 25);
  Lock& hot = tried.locks.front();
  hot.acquisitions = 80, hot.commits = 75;
  EXPECT_EQ(first_sentence(diagnose_elided(waiting_for(2000), tried)),
            "Under htm-10, sections of hot rarely conflict: 75 % of their transactions commit, and overflows "
            "of the cache end most of the others.");
  hot.acquisitions = 90;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "too-long");
}

TEST(Diagnose, HoldersThatWaitForAnotherLockPointToIt) {
  Profile plain = waiting_for(2000);
  plain.locks[1].place.address = 128;
  plain.locks[0].inside = 128;
  plain.locks[0].waits_inside_ns = 200;
  EXPECT_TRUE(first_sentence(diagnose(plain, nullptr))
                  .ends_with(" While threads hold hot, they wait for cold in 50 % of the time: that lock is "
                             "to be changed first."));
  plain.locks[0].waits_inside_ns = 199;
  EXPECT_EQ(first_sentence(diagnose(plain, nullptr)).find("cold"), std::string::npos);
}

TEST(Diagnose, LocksOnOneCacheLineAreTold) {
  Profile plain = waiting_for(0);
  plain.locks[0].place.address = 64, plain.locks[1].place.address = 104;
  for (Lock& lock : plain.locks) lock.acquisitions = 1.2;  // 120 ns of 4000
  const auto code = [&] { return first_code(diagnose(plain, nullptr)); };
  EXPECT_EQ(code(), "locks-share-line");
  EXPECT_EQ(first_sentence(diagnose(plain, nullptr)),
            "2 of 2 locks share their cache line with another lock: a thread that takes one takes the line "
            "from threads that use the other.");
  plain.locks[1].place.address = 128;
  EXPECT_EQ(code(), "") << "the next line";
  plain.locks[1].place.address = 104;
  plain.locks[0].acquisitions = 1.1;
  EXPECT_EQ(code(), "") << "too rare";
  plain.locks.push_back(lock_named("alone", 0));
  plain.locks[0].acquisitions = 50, plain.locks[1].acquisitions = 50;
  plain.locks[2].place.address = 640, plain.locks[2].acquisitions = 101;
  EXPECT_EQ(code(), "") << "less than half of all";
}

TEST(Diagnose, ConflictsInTheAllocatorAreNoDataToPad) {
  Profile tried = elided("conflict", 60);
  Lock& hot = tried.locks.front();
  hot.conflicts = {conflict_on("", 40, 40)};
  hot.conflicts[0].victim.name = "_int_free";
  hot.conflicts_seen = {40, 40};
  const auto change = [&] { return diagnose_elided(waiting_for(2000), tried).findings.front().change; };
  EXPECT_EQ(change(),
            "Move allocation out of the sections, or use an allocator that keeps memory for each thread.");
  hot.conflicts[0].victim.name = "free_list";
  EXPECT_NE(change().find("alignas"), std::string::npos);
}

TEST(Diagnose, OneThreadWithWork) {
  Profile plain = waiting_for(0);
  plain.most_threads = 2;
  time_in(plain.times, State::kOutside) = 1000;
  EXPECT_EQ(first_code(diagnose(plain, nullptr)), "one-thread");
  time_in(plain.times, State::kOutside) = 1200;
  EXPECT_EQ(first_code(diagnose(plain, nullptr)), "");
}

TEST(Diagnose, GainsOfConditionVariablesAreNotThoseOfLocks) {
  Profile plain = waiting_for(100);
  time_in(plain.times, State::kOutside) = 900;
  time_in(plain.times, State::kBlocked) = 3000;
  const auto tells = [&](double speedup) {
    return first_sentence(diagnose_elided(plain, elided("conflict", 0), speedup)).find("--condition glibc") !=
           std::string::npos;
  };
  EXPECT_TRUE(tells(1.2));
  EXPECT_FALSE(tells(1.09));
  time_in(plain.times, State::kWaiting) = 400;
  EXPECT_FALSE(tells(1.2)) << "waits explain it";
}

TEST(Diagnose, DataInTheCacheLineOfTheLockAreNamed) {
  Profile tried = elided("conflict", 60);
  Lock& hot = tried.locks.front();
  hot.conflicts = {{{512, "size"}, {}, {2, "put", "map.c", 9}, {30, 30}, true},
                   {{768, "slots"}, {}, {}, {29, 29}}};
  hot.conflicts_seen.count = 60, hot.conflicts_seen.apart = 59, hot.conflicts_apart_at_lock = 30;
  const Diagnosis diagnosis = diagnose_elided(waiting_for(2000), tried);
  ASSERT_EQ(first_code(diagnosis), "data-at-lock");
  EXPECT_EQ(diagnosis.findings.front().sentence,
            "Sections under hot write size, which is in the cache line of the lock: each such write ends all "
            "other transactions under that lock, also those that do not use size.");
  EXPECT_EQ(
      diagnosis.findings.front().change,
      "Move size out of the cache line of its lock (alignas(64)), and compare again: if sections read it "
      "too, that conflict stays.");
  hot.conflicts_apart_at_lock = 29;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "false-sharing");
}

TEST(Diagnose, DataThatAllSectionsWriteAreSharedAlsoBesideTheLock) {
  Profile tried = elided("conflict", 60);
  Lock& hot = tried.locks.front();
  hot.conflicts = {{{512, "size"}, {0, "a transaction"}, {2, "put", "map.c", 9}, {40}, true}};
  hot.conflicts_seen.count = 40;
  const Diagnosis diagnosis = diagnose_elided(waiting_for(2000), tried);
  EXPECT_EQ(first_code(diagnosis), "true-sharing");
  EXPECT_EQ(diagnosis.findings.front().sentence,
            "Sections under hot conflict on the same data, most often at size: a transaction against put "
            "(map.c:9). These "
            "data share the lock's cache line. A write to them ends every transaction under the lock.");
  EXPECT_TRUE(
      diagnosis.findings.front().change.ends_with("Move what remains out of the cache line of the lock."));
}

TEST(Diagnose, OtherDataBesideTheLockGetAWord) {
  Profile tried = elided("conflict", 60);
  Lock& hot = tried.locks.front();
  hot.conflicts = {{{512, "size"}, {0, "a look"}, {2, "put", "map.c", 9}, {15, 15}, true},
                   conflict_on("slots", 45, 0)};
  hot.conflicts_seen.count = 60, hot.conflicts_seen.apart = hot.conflicts_apart_at_lock = 15;
  const auto ends_with_it = [&] {
    const Finding finding = diagnose_elided(waiting_for(2000), tried).findings.front();
    EXPECT_EQ(finding.cause, Cause::kTrueSharing);
    const bool is_told = finding.sentence.ends_with(
        "A further 25 % of the conflicts are with other data in the lock's cache line.");
    EXPECT_EQ(is_told, finding.change.ends_with("Move what remains out of the cache line of the lock."));
    return is_told;
  };
  EXPECT_TRUE(ends_with_it());
  hot.conflicts_seen.apart = hot.conflicts_apart_at_lock = 14;
  EXPECT_FALSE(ends_with_it());
}

TEST(Diagnose, ConflictsOnTheLockWordMeanThatTheLockIsTakenHoweverLongTheRun) {
  for (const double length : {1.0, 100.0}) {
    Profile tried = elided("conflict", 60);
    Lock& hot = tried.locks.front();
    hot.attempts *= length, hot.commits *= length, hot.aborts["conflict"] *= length;
    hot.fallbacks = 10 * length;
    hot.conflicts_seen.count = 9 * length;
    EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "lock-taken") << length;
    hot.conflicts_seen.count = 10 * length;
    EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "true-sharing") << length;
    hot.aborts["conflict"] = 16 * length;
    hot.conflicts_seen.count = 9 * length;
    EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "true-sharing") << "most of them";
  }
}

TEST(Diagnose, FewConflictsAreNoReason) {
  Profile tried = elided("conflict", 3);
  Lock& hot = tried.locks.front();
  hot.attempts = 6, hot.commits = 3;
  hot.conflicts_seen.count = kFewestAborts - 1;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "lock-taken");
  hot.conflicts_seen.count = kFewestAborts;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "true-sharing");
}

TEST(Diagnose, InterruptsAreNoSystemCalls) {
  Profile run = elided("other", 60);
  run.interrupted = 30;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), run)), "system-calls");
  run.interrupted = 58;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), run)), "lock-taken");
}

TEST(Diagnose, AFewInterruptsBesideAFewConflictsAreRareConflicts) {
  const auto code = [](double conflicts, double interrupts) {
    Profile run = elided("conflict", conflicts);
    Lock& hot = run.locks.front();
    hot.aborts["other"] = run.interrupted = interrupts;
    hot.commits -= interrupts;
    hot.conflicts_seen.count = conflicts;
    return first_code(diagnose_elided(waiting_for(2000), run));
  };
  EXPECT_EQ(code(4, 8), "rare-conflicts");
  EXPECT_EQ(code(11, 1), "true-sharing");
  EXPECT_EQ(code(4, 11), "true-sharing") << "so many interrupts leave little of the sections to see";
}

TEST(Diagnose, FewFallbacksDoNotExplainManyConflicts) {
  Profile run = elided("conflict", 40);
  Lock& hot = run.locks.front();
  hot.conflicts_seen.count = 9;
  hot.fallbacks = 4;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), run)), "lock-taken") << "31 of up to 32";
  hot.fallbacks = 3;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), run)), "true-sharing");
}

/// Adds `count` locks of objects to a run. Each waits for `waits_ns` and loses two of its 12 attempts to
/// conflicts. `name_of`: of the i-th one, if it has a name.
template <class NameOf>
Profile with_objects(Profile profile, int count, double waits_ns, std::uint32_t line, NameOf name_of) {
  Lock object = profile.locks.front();
  object.site = {0x400, "transfer", "accounts.c", line};
  object.waits_ns = waits_ns;
  object.attempts = 12;
  object.commits = object.acquisitions = 10;
  object.aborts = {{"conflict", 2}};
  object.conflicts_seen.count = 2;
  object.place = {0x1000, "", "", 0};
  for (int i = 1; i <= count; ++i) {
    object.place.address += 64;
    object.place.name = name_of(i);
    profile.locks.push_back(object);
  }
  return profile;
}

TEST(Diagnose, ALockThatLosesAttemptsIsNamedThoughNobodyWaitsForIt) {
  const auto jobs = [](int) { return "jobs"; };
  const Profile plain = with_objects(waiting_for(2000), 1, 0, 10, jobs);
  Profile tried = with_objects(elided("conflict", 0), 1, 0, 10, jobs);
  time_in(tried.times, State::kAborted) = 400;
  time_in(tried.times, State::kOutside) -= 400;
  tried.locks.back().aborted_ns = 400;
  const Diagnosis diagnosis = diagnose_elided(plain, tried);
  ASSERT_EQ(diagnosis.findings.size(), 2u);
  EXPECT_EQ(diagnosis.findings[0].lock, "hot");
  EXPECT_EQ(diagnosis.findings[1].lock, "jobs");
  EXPECT_EQ(diagnosis.findings[1].cause, Cause::kLockTaken) << "two conflicts are too few to tell more";
  tried.locks.back().aborted_ns = 399;
  EXPECT_EQ(diagnose_elided(plain, tried).findings.size(), 1u);
}

TEST(Diagnose, ALockThatLosesAttemptsIsNamedThoughLocksDoNotMatter) {
  const Profile plain = waiting_for(0);
  Profile tried = elided("conflict", 60);
  tried.locks.front().conflicts_seen = {60, 50};
  time_in(tried.times, State::kAborted) = 400;
  time_in(tried.times, State::kOutside) -= 400;
  tried.locks.front().aborted_ns = 400;
  const Diagnosis diagnosis = diagnose_elided(plain, tried);
  EXPECT_FALSE(diagnosis.locks_matter);
  EXPECT_EQ(first_code(diagnosis), "false-sharing");
  tried.locks.front().aborted_ns = 399;
  EXPECT_TRUE(diagnose_elided(plain, tried).findings.empty());
}

LineWait wait_for(const std::string& name, std::uint32_t line, double ns) {
  return {{512, name}, {1, "add", "sum.c", line}, ns};
}

TEST(Diagnose, TransactionsThatWaitForOneLineTakeTurns) {
  Profile tried = elided("conflict", 3);
  Lock& hot = tried.locks.front();
  hot.line_waits_ns = 200;
  hot.line_waits = {wait_for("rare", 3, 99), wait_for("sum", 7, 60), wait_for("sum+0x8", 7, 41)};
  const Finding finding = diagnose_elided(waiting_for(2000), tried).findings.front();
  EXPECT_EQ(std::string(code_of(finding.cause)), "contended-line");
  EXPECT_EQ(
      finding.sentence,
      "Under htm-10, sections of hot take turns, as with a lock: 97 % of their transactions commit, but "
      "50 % of their time passes in waits for cache lines that other transactions write, most of it for "
      "sum in add (sum.c:7).");
  EXPECT_FALSE(finding.change.empty());
  hot.line_waits[0].ns = 90, hot.line_waits[2].ns = 39;
  EXPECT_TRUE(first_sentence(diagnose_elided(waiting_for(2000), tried)).ends_with("transactions write."))
      << "no place has most of it";
  hot.line_waits_ns = 199;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), tried)), "rare-conflicts");
}

TEST(Diagnose, LinesOfOneArrayOfLocksAreWaitedForTogether) {
  const auto element = [](int i) { return "accounts+0x" + std::to_string(i); };
  Profile tried = with_objects(elided("conflict", 0), 4, 0, 10, element);
  for (Lock& lock : tried.locks) {
    lock.attempts = lock.commits = 100;
    lock.holds_ns = 100;
    lock.line_waits_ns = 60;
    lock.line_waits = {wait_for("total", 7, 60)};
  }
  const Diagnosis diagnosis = diagnose_elided(with_objects(waiting_for(1000), 4, 500, 10, element), tried);
  EXPECT_EQ(first_code(diagnosis), "contended-line");
  EXPECT_NE(first_sentence(diagnosis).find("60 % of their time"), std::string::npos);
}

TEST(Diagnose, LongWaitsInTransactionsAreNoCostOfBeginAndCommit) {
  const auto code = [](double ns) {
    Profile tried = elided("conflict", 0);
    tried.locks.front().holds_ns = ns * tried.locks.front().acquisitions;
    return first_code(diagnose_elided(waiting_for(2000), tried, 0.8, 0.9));
  };
  EXPECT_EQ(code(104), "short-sections") << "4 ns with the lock";
  EXPECT_EQ(code(105), "rare-conflicts");
}

TEST(Diagnose, LocksInOneArrayCountAsOneWhereverTheyAreTaken) {
  const auto array = [](Profile profile, double waits_ns) {
    const auto element = [](int i) { return "accounts+0x" + std::to_string(i); };
    profile = with_objects(std::move(profile), 50, waits_ns, 10, element);
    return with_objects(std::move(profile), 1, waits_ns, 20, [](int) { return "accounts"; });
  };
  const Diagnosis diagnosis = diagnose_elided(array(waiting_for(1000), 30), array(elided("conflict", 0), 0));
  ASSERT_EQ(diagnosis.findings.size(), 2u);
  EXPECT_EQ(diagnosis.findings[0].lock, "the 51 locks in accounts");
  EXPECT_EQ(diagnosis.sentence.find("for one of these"), std::string::npos) << diagnosis.sentence;
  EXPECT_EQ(std::string(code_of(diagnosis.findings[0].cause)), "true-sharing") << "2 of 12 attempts of each";
}

TEST(Diagnose, LocksOfAnArrayAreHeldEach) {
  const auto element = [](int i) { return "accounts+0x" + std::to_string(i); };
  const Diagnosis diagnosis = diagnose(with_objects(waiting_for(1000), 4, 500, 10, element), nullptr);
  EXPECT_EQ(
      first_sentence(diagnosis),
      "Threads hold each of the 4 locks in accounts for 40 % of the time in which two or more are alive.");
}

TEST(Diagnose, AnArrayOfWhichOneRunSawOneLock) {
  const auto element = [](int i) { return "accounts+0x" + std::to_string(i); };
  const Profile plain = with_objects(waiting_for(1000), 1, 500, 10, element);
  const Profile tried = with_objects(elided("conflict", 0), 50, 0, 10, element);
  const Diagnosis diagnosis = diagnose_elided(plain, tried);
  ASSERT_EQ(diagnosis.findings.size(), 2u);
  EXPECT_EQ(diagnosis.findings[1].lock, "accounts");
  EXPECT_EQ(std::string(code_of(diagnosis.findings[1].cause)), "true-sharing") << "2 of 12 attempts of each";
}

TEST(Diagnose, LocksOfAStructureAreTwo) {
  Profile plain = with_objects(waiting_for(2000), 1, 2000, 10, [](int) { return "server"; });
  plain = with_objects(std::move(plain), 1, 2000, 20, [](int) { return "server+0x28"; });
  const Diagnosis diagnosis = diagnose(plain, nullptr);
  ASSERT_EQ(diagnosis.findings.size(), 3u);
  EXPECT_EQ(diagnosis.findings[1].lock, "server");
  EXPECT_EQ(diagnosis.findings[2].lock, "server+0x28");
}

TEST(Diagnose, LocksWithoutNameTakenAtOnePlaceCountAsOne) {
  const auto objects = [](Profile profile, double waits_ns) {
    return with_objects(std::move(profile), 50, waits_ns, 10, [](int) { return ""; });
  };
  const Profile plain = objects(waiting_for(1000), 30), run = objects(elided("conflict", 0), 0);
  const Diagnosis diagnosis = diagnose_elided(plain, run);
  EXPECT_NE(diagnosis.sentence.find(
                "60 % of it for the 50 locks taken at accounts.c:10, which are some of 52 locks"),
            std::string::npos)
      << diagnosis.sentence;
  ASSERT_EQ(diagnosis.findings.size(), 2u);
  EXPECT_EQ(diagnosis.findings[0].lock, "the 50 locks taken at accounts.c:10");
  EXPECT_EQ(std::string(code_of(diagnosis.findings[0].cause)), "true-sharing") << "2 of 12 attempts of each";
}

TEST(Diagnose, PageFaultsAreNoSystemCalls) {
  Profile run = elided("other", 60);
  run.faulted = 40;
  const Diagnosis diagnosis = diagnose_elided(waiting_for(2000), run);
  EXPECT_EQ(first_code(diagnosis), "first-touch");
  EXPECT_EQ(first_sentence(diagnosis),
            "Sections under hot touch memory for the first time: 67 % of the aborts are page faults.");
  run.faulted = 20;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), run)), "system-calls");
  run.faulted = 2, run.interrupted = 57;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), run)), "lock-taken");
}

TEST(Diagnose, AttemptsThatNeverMeetAFreeLockTellThatItIsTaken) {
  Profile run = elided("lock-busy", 100);
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), run)), "lock-taken");
  run.exact = false;
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), run)), "lock-taken")
      << "and no sample shows a conflict";
}

/// Fallbacks of sections that cannot commit end attempts of other threads on the lock word.
Profile with_fallbacks(const char* cause, double aborts, double conflicts, double fallbacks) {
  Profile profile = elided("conflict", conflicts);
  Lock& hot = profile.locks.front();
  hot.commits = 100 - aborts - conflicts;
  hot.aborts[cause] = aborts;
  hot.fallbacks = fallbacks;
  return profile;
}

TEST(Diagnose, FallbacksDoNotHideTheirCause) {
  const Profile plain = waiting_for(2000);
  const Diagnosis diagnosis = diagnose_elided(plain, with_fallbacks("capacity", 5, 30, 5));
  EXPECT_EQ(first_code(diagnosis), "too-long");
  EXPECT_EQ(
      first_sentence(diagnosis),
      "Sections under hot are too long for a transaction: 14 % of the aborts are for capacity, and each "
      "thread that then takes the lock ends attempts of others.");
  EXPECT_EQ(first_code(diagnose_elided(plain, with_fallbacks("other", 5, 30, 5))), "system-calls");
  EXPECT_EQ(first_code(diagnose_elided(plain, with_fallbacks("capacity", 5, 41, 5))), "lock-taken")
      << "five fallbacks end at most 20 attempts of four threads";
  EXPECT_EQ(first_code(diagnose_elided(plain, with_fallbacks("capacity", 2, 10, 2))), "lock-taken") << "few";
  Profile sharing = with_fallbacks("capacity", 5, 30, 5);
  sharing.locks.front().conflicts_seen.count = 20;
  EXPECT_EQ(first_code(diagnose_elided(plain, sharing)), "true-sharing");
}

TEST(Diagnose, SampledFallbacksMayHaveEndedAttempts) {
  const Profile plain = waiting_for(2000);
  const auto sampled = [](Profile profile) {
    profile.exact = false;
    return profile;
  };
  EXPECT_EQ(first_code(diagnose_elided(plain, sampled(with_fallbacks("capacity", 20, 21, 4)))), "too-long")
      << "half of the ten tries of each fallback";
  EXPECT_EQ(first_code(diagnose_elided(plain, sampled(with_fallbacks("other", 20, 21, 4)))), "system-calls");
  const Diagnosis open = diagnose_elided(plain, sampled(with_fallbacks("other", 19, 30, 4)));
  EXPECT_EQ(first_code(open), "true-sharing");
  EXPECT_EQ(
      first_sentence(open),
      "Attempts to elide hot end by conflicts: sections write the same data or data in one cache line, or "
      "other threads take the lock. Only a virtual machine tells these apart.");
  EXPECT_EQ(
      first_sentence(diagnose_elided(plain, sampled(with_fallbacks("capacity", 20, 36, 4)))),
      "Sections under hot conflict: they write the same data or, which only a virtual machine tells apart, "
      "data in one cache line.")
      << "four fallbacks end at most 16 attempts";
}

TEST(Diagnose, CommitsAreAShareOfAttemptsThatMetAFreeLock) {
  const std::string sentence = first_sentence(diagnose_elided(waiting_for(2000), elided("lock-busy", 60)));
  EXPECT_EQ(sentence,
            "Under htm-10, sections of hot rarely conflict: 100 % of their transactions that met a free lock "
            "commit.");
  Profile conflicting = elided("lock-busy", 60);
  conflicting.locks.front().commits = 35;
  conflicting.locks.front().aborts["conflict"] = 5;
  EXPECT_NE(first_code(diagnose_elided(waiting_for(2000), conflicting)), "rare-conflicts")
      << "5 of the 40 attempts that met a free lock";
}

TEST(Diagnose, ShortSectionsExplainWhyElisionIsSlower) {
  Profile plain = waiting_for(2000);
  plain.locks.front().holds_ns = 2300;  // of 100 sections
  const Profile tried = elided("conflict", 0.4);
  EXPECT_EQ(first_sentence(diagnose_elided(plain, tried, 0.88, 0.95)),
            "Under htm-10, sections of hot rarely conflict: more than 99 % of their transactions commit. But "
            "they last 23 ns each, and to begin and to commit a transaction costs more than it saves.");
  EXPECT_EQ(first_code(diagnose_elided(plain, tried, 0.98, 0.99)), "rare-conflicts");
  EXPECT_EQ(first_code(diagnose_elided(plain, tried, 0.95, 1.12)), "rare-conflicts") << "may be faster";
  EXPECT_EQ(first_code(diagnose_elided(plain, tried, 0.88)), "rare-conflicts") << "no interval";
  EXPECT_EQ(first_code(diagnose_elided(plain, elided("lock-busy", 60), 0.88, 0.95)), "rare-conflicts")
      << "few transactions commit";
  plain.locks.front().holds_ns = 0;  // no look met the lock in a section
  EXPECT_EQ(first_code(diagnose_elided(plain, tried, 0.88, 0.95)), "rare-conflicts");
  plain.locks.front().holds_ns = 100 * (kShortSectionNs + 1);
  EXPECT_EQ(first_code(diagnose_elided(plain, tried, 0.88, 0.95)), "rare-conflicts");
}

TEST(Diagnose, ShortSectionsAreNotBlamedForAnotherLock) {
  Profile plain = waiting_for(2000);
  plain.locks.front().holds_ns = 2300;
  Profile tried = elided("conflict", 0.4);
  Lock& other = tried.locks.back();
  other.attempts = 100, other.commits = 50;
  other.waits_ns = 20;
  EXPECT_EQ(first_code(diagnose_elided(plain, tried, 0.88, 0.95)), "rare-conflicts");
  other.commits = 95;
  EXPECT_EQ(first_code(diagnose_elided(plain, tried, 0.88, 0.95)), "short-sections");
  other.commits = 50;
  tried.locks.front().waits_ns = 5000;  // little time passes at the other one
  EXPECT_EQ(first_code(diagnose_elided(plain, tried, 0.88, 0.95)), "short-sections");
}

TEST(Diagnose, FalseSharingIsPlacedWhereMostOfItIs) {
  Profile profile = elided("conflict", 60);
  Lock& hot = profile.locks.front();
  hot.conflicts = {conflict_on("counter", 50, 1), conflict_on("slots", 40, 40), conflict_on("rest", 30, 30)};
  hot.conflicts_seen.count = 120, hot.conflicts_seen.apart = 71;
  Diagnosis diagnosis = diagnose_elided(waiting_for(2000), profile);
  ASSERT_EQ(first_code(diagnosis), "false-sharing");
  EXPECT_NE(diagnosis.findings[0].sentence.find("most often at slots: here against there"), std::string::npos)
      << diagnosis.findings[0].sentence;
  hot.conflicts = {conflict_on("counter", 50, 0)};  // the others are rarer
  diagnosis = diagnose_elided(waiting_for(2000), profile);
  ASSERT_EQ(first_code(diagnosis), "false-sharing");
  EXPECT_EQ(diagnosis.findings[0].sentence.find("most often at"), std::string::npos);
}

TEST(Diagnose, PrefetchesAreToldFromFalseSharing) {
  Profile profile = elided("conflict", 60);
  Lock& hot = profile.locks.front();
  hot.conflicts = {{{1, "slots"}, {2, "here"}, {3, "there"}, {60, 20, 35}, false, 12}};
  hot.conflicts_seen = {60, 20, 35};
  const auto finding = [&] { return diagnose_elided(waiting_for(2000), profile).findings.at(0); };
  EXPECT_EQ(finding().cause, Cause::kPrefetch);
  EXPECT_NE(finding().sentence.find("58 % of the conflicts are with prefetches"), std::string::npos);
  EXPECT_NE(finding().sentence.find("most often at slots (12 places): here against there"), std::string::npos)
      << finding().sentence;
  EXPECT_NE(finding().change.find("alignas(128)"), std::string::npos);
  hot.conflicts_seen = {60, 35, 20};
  EXPECT_EQ(finding().cause, Cause::kFalseSharing);
  EXPECT_NE(finding().sentence.find("33 % of the conflicts are with prefetches"), std::string::npos);
  hot.conflicts_seen = {60, 35, 14};
  EXPECT_EQ(finding().sentence.find("prefetches"), std::string::npos) << "less than a quarter";
  hot.conflicts_seen = {60, 10, 0, 40};
  EXPECT_EQ(finding().cause, Cause::kTrueSharing);
  EXPECT_NE(finding().sentence.find("The accesses of most conflicts are not known."), std::string::npos);
}

TEST(Diagnose, AbortsOfSpeculationsSayNothingAboutAttempts) {
  Profile profile = elided("conflict", 3);
  profile.locks.front().aborts["conflict"] += 50;  // in always-abort transactions
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), profile)), "rare-conflicts");
}

TEST(Diagnose, CausesWithoutAGroupAreNotCapacity) {
  const Profile profile = elided("nested", 60);
  EXPECT_EQ(first_code(diagnose_elided(waiting_for(2000), profile)), "system-calls");
}

TEST(Diagnose, SystemCallsShowWithoutAttempts) {
  Profile plain = waiting_for(2000);
  plain.locks.front().system_calls = 100;
  EXPECT_EQ(first_code(diagnose(plain, nullptr)), "system-calls");
}

TEST(Diagnose, TellsOfShortParallelPartAndOfTooManyThreads) {
  Profile serial = waiting_for(2000);
  serial.wall_ns = 10000;
  EXPECT_EQ(first_code(diagnose(serial, nullptr)), "mostly-serial");
  EXPECT_EQ(diagnose(serial, nullptr).findings[0].change,
            "Speed up the part with one thread first: it is 90 % of the run.");
  Profile crowded = waiting_for(2000);
  crowded.cpus = 3;
  EXPECT_EQ(first_code(diagnose(crowded, nullptr)), "oversubscribed");
  EXPECT_NE(diagnose(crowded, nullptr).findings[0].sentence.find("4 threads need a CPU, and there are 3"),
            std::string::npos);
  crowded.parked_ns = 1000;
  EXPECT_NE(first_code(diagnose(crowded, nullptr)), "oversubscribed") << "one sleeps at the lock";
  crowded.parked_ns = 0;
  crowded.cpus = 4;
  crowded.most_threads = 9;  // most of them shortly
  EXPECT_EQ(first_code(diagnose(crowded, nullptr)), "held-long");
  crowded.cpus = 3;
  time_in(crowded.times, State::kOutside) -= 1000;
  time_in(crowded.times, State::kBlocked) += 1000;  // a thread that waits for the others
  EXPECT_NE(diagnose(crowded, nullptr).findings.back().cause, Cause::kOversubscribed);
}

TEST(Diagnose, LockWithoutSymbolIsNamedByItsCallSite) {
  Lock lock = lock_named("", 1);
  EXPECT_EQ(name_of(lock), "the lock at 0x40");
  lock.site = {9, "push"};
  EXPECT_EQ(name_of(lock), "the lock taken in push");
  lock.site = {9, "push", "queue.c", 3};
  EXPECT_EQ(name_of(lock), "the lock taken at queue.c:3");
}

TEST(Diagnose, VirtualLockIsFoundByItsAddressUnderAnotherCallSite) {
  Profile plain = waiting_for(2000), tried = elided("capacity", 60);
  for (Profile* profile : {&plain, &tried}) {
    profile->exact = true;
    profile->locks.front().place = {64};
  }
  plain.locks.front().site = {9, "put"};
  tried.locks.front().site = {8, "get"};
  EXPECT_EQ(first_code(diagnose_elided(plain, tried)), "too-long");
  plain.exact = tried.exact = false;
  EXPECT_EQ(first_code(diagnose_elided(plain, tried)), "held-long");
}

TEST(Diagnose, LockIsFoundByAnotherOfItsCallSites) {
  Profile plain = waiting_for(2000), tried = elided("capacity", 60);
  for (Profile* profile : {&plain, &tried}) profile->exact = false, profile->samples = 1000;
  plain.locks.front().place = {64};
  tried.locks.front().place = {128};
  plain.locks.front().site = {9, "put"};
  tried.locks.front().site = {8, "get"};
  EXPECT_EQ(first_code(diagnose_elided(plain, tried)), "held-long");
  tried.locks.front().other_sites = {{9, "put"}};
  EXPECT_EQ(first_code(diagnose_elided(plain, tried)), "too-long");
  tried.locks.front().other_sites.clear();
  plain.locks.front().other_sites = {{7, "size"}, {8, "get"}};
  EXPECT_EQ(first_code(diagnose_elided(plain, tried)), "too-long");
}

TEST(ProfileJson, ReadsWhatItWrites) {
  Profile profile = elided("conflict", 60);
  profile.locks.front().site = {9, "push", "queue.c", 3};
  profile.locks.front().longest_wait_ns = 17;
  profile.locks.front().callers = {{11}, {12, "main"}};
  profile.locks.front().other_sites = {{13, "pop"}};
  profile.locks.front().conflicts_seen = {41, 6, 3, 2};
  profile.locks.front().conflicts = {{{512, "count"}, {1, "get", "map.c", 7}, {2, "put"}, {40, 5, 2, 1}}};
  profile.samples = 11;
  const auto text = profile_json(profile).dump();
  EXPECT_EQ(profile_json(profile_from_json(nlohmann::json::parse(text))).dump(), text);
  EXPECT_THROW(profile_from_json(nlohmann::json::parse("{}")), std::invalid_argument);
}

}  // namespace
}  // namespace elision::profile
