// SPDX-License-Identifier: Apache-2.0
// How samples and the library's counts make a profile.
#include "cli/experiment/lock_profile.h"

#include <gtest/gtest.h>

#include "cli/experiment/counter_file_for_test.h"
#include "cli/host/temp_directory.h"

namespace elision::cli::experiment {
namespace {

using profile::State;

constexpr std::uint64_t kLock = 64, kOther = 128;

/// The profile of two samples in attempts of kLock, one in an attempt of kOther and one outside, with
/// `entry`'s counts of kLock.
profile::Profile profile_with(const abi::CounterEntry& entry) {
  const LockCountsByAddress counts{{kLock, entry}};
  LockSamples samples;
  for (const std::uint64_t lock : {kLock, kLock, kOther})
    samples.add(State::kAttempt, {abi::Activity::kAttempt, lock, 1}, {}, false);
  samples.add(State::kOutside, {});
  profile::Profile profile = samples.profile(400, counts);
  add_counts(profile, counts, 1e9);
  return profile;
}

TEST(LockProfile, AttemptsOfEachLockDivideAsItsCountsDo) {
  abi::CounterEntry entry;
  entry.commits = 1;
  entry.aborts[static_cast<std::size_t>(abi::AbortCause::kConflict)] = 3;
  const profile::Profile profile = profile_with(entry);
  EXPECT_DOUBLE_EQ(time_in(profile.times, State::kAttempt), 50 + 100);
  EXPECT_DOUBLE_EQ(time_in(profile.times, State::kAborted), 150);
  ASSERT_EQ(profile.locks.size(), 2u);
  EXPECT_EQ(profile.locks[0].place.address, kLock);
  EXPECT_EQ(profile.locks[0].attempts, 4);
  EXPECT_DOUBLE_EQ(profile.locks[0].holds_ns, 50);
  EXPECT_DOUBLE_EQ(profile.locks[0].aborted_ns, 150);
  EXPECT_DOUBLE_EQ(time_in(profile.locks[0].times, State::kAborted), 150);
  EXPECT_DOUBLE_EQ(time_in(profile.locks[0].times, State::kAttempt), 50);
  EXPECT_DOUBLE_EQ(profile.locks[1].holds_ns, 100) << "a lock without counts";
  EXPECT_EQ(profile.locks[0].aborts.at("conflict"), 3);
}

TEST(LockProfile, AttemptsOfLocksWithoutAPlaceDivideAsAllOfThemDo) {
  abi::CounterEntry rest;
  rest.commits = 1;
  rest.aborts[static_cast<std::size_t>(abi::AbortCause::kConflict)] = 3;
  const LockCountsByAddress counts{{0, rest}};
  LockSamples samples;
  for (int i = 0; i < 4; ++i) samples.add(State::kAttempt, {abi::Activity::kAttempt, kOther, 1}, {}, false);
  profile::Profile profile = samples.profile(400, counts);
  add_counts(profile, counts, 1e9);
  ASSERT_EQ(profile.locks.size(), 1u);
  EXPECT_DOUBLE_EQ(profile.locks[0].aborted_ns, 300);
  EXPECT_DOUBLE_EQ(profile.locks[0].holds_ns, 100);
}

/// The counts are of attempts, of which those that abort are shorter.
TEST(LockProfile, AttemptsDivideAsThoseWithAKnownOutcomeDo) {
  abi::CounterEntry entry;
  entry.commits = 1;
  entry.aborts[static_cast<std::size_t>(abi::AbortCause::kConflict)] = 3;
  const LockCountsByAddress counts{{kLock, entry}};
  LockSamples samples;
  const abi::SeenActivity attempt{abi::Activity::kAttempt, kLock, 1};
  for (int i = 0; i < 3; ++i) samples.add(State::kAttempt, attempt);
  samples.add(State::kAborted, attempt);
  for (int i = 0; i < 4; ++i) samples.add(State::kAttempt, attempt, {}, false);
  const profile::Profile profile = samples.profile(800, counts);
  EXPECT_DOUBLE_EQ(time_in(profile.times, State::kAttempt), 600);
  EXPECT_DOUBLE_EQ(time_in(profile.times, State::kAborted), 200);
  EXPECT_DOUBLE_EQ(time_in(profile.locks.at(0).times, State::kAttempt), 600);
  EXPECT_DOUBLE_EQ(profile.locks[0].aborted_ns, 200);
  EXPECT_DOUBLE_EQ(profile.locks[0].holds_ns, 600);
}

TEST(LockProfile, SpeculationsAreNoAttempts) {
  abi::CounterEntry entry;
  entry.commits = 2;
  entry.speculations = 5;
  entry.aborts[static_cast<std::size_t>(abi::AbortCause::kExplicit)] = 5;
  entry.aborts[static_cast<std::size_t>(abi::AbortCause::kConflict)] = 2;
  EXPECT_EQ(profile_with(entry).locks.at(0).attempts, 2 + 2);
  entry.speculations = 9;  // the last ones have not ended
  EXPECT_EQ(profile_with(entry).locks.at(0).attempts, 2);
}

TEST(LockProfile, FallbacksAreNotContended) {
  abi::CounterEntry entry;
  entry.acquisitions = 7;
  entry.fallbacks = 5;
  entry.commits = 3;
  const profile::Lock lock = profile_with(entry).locks.at(0);
  EXPECT_EQ(lock.fallbacks, 5);
  EXPECT_EQ(lock.contended, 2);
  EXPECT_EQ(lock.acquisitions, 10);
}

TEST(LockProfile, CallSiteWithMostSamplesIsFirstAndOthersAreKept) {
  LockSamples samples;
  for (const std::uint64_t site : {1, 2, 2})
    samples.add(State::kSection, {abi::Activity::kIdle, kLock, site}, {{kLock}, 1});
  const profile::Lock lock = samples.profile(300, {}).locks.at(0);
  EXPECT_EQ(lock.site.address, 2u);
  ASSERT_EQ(lock.other_sites.size(), 1u);
  EXPECT_EQ(lock.other_sites[0].address, 1u);
}

TEST(LockProfile, ALockInsideAnotherSharesItsTimeAndCount) {
  LockSamples samples;
  for (int i = 0; i < 2; ++i)
    samples.add(State::kSection, {abi::Activity::kIdle, kOther, 1}, {{kLock, kOther}, 2});
  samples.add(State::kSection, {abi::Activity::kIdle, kLock, 1}, {{kLock}, 1});
  samples.add(State::kWaiting, {abi::Activity::kWaiting, kLock, 1});
  samples.add_taken(kLock, 80);
  const profile::Profile profile = samples.profile(400, {});
  ASSERT_EQ(profile.locks.size(), 2u);
  for (const profile::Lock& lock : profile.locks) {
    EXPECT_DOUBLE_EQ(lock.acquisitions, 40);
    EXPECT_DOUBLE_EQ(lock.holds_ns, lock.place.address == kLock ? 300 : 200);
  }
}

TEST(LockProfile, ALockThatIsRarelySeenInsideCountsLess) {
  LockSamples samples;
  samples.add(State::kSection, {abi::Activity::kIdle, kOther, 1}, {{kLock, kOther}, 2});
  for (int i = 0; i < 79; ++i) samples.add(State::kSection, {abi::Activity::kIdle, kLock, 1}, {{kLock}, 1});
  samples.add_taken(kLock, 1000);
  for (const profile::Lock& lock : samples.profile(80, {}).locks)
    EXPECT_DOUBLE_EQ(lock.acquisitions, lock.place.address == kLock ? 800 : 200) << "a quarter of the weight";
}

TEST(LockProfile, WhatIsTakenBeforeASleepIsDividedAsTheRest) {
  LockSamples samples;
  for (const std::uint64_t lock : {kLock, kOther})
    samples.add(State::kSection, {abi::Activity::kIdle, lock, 1}, {{lock}, 1});
  samples.add_taken(kLock, 30);
  samples.add_taken(kOther, 10);
  samples.add_taken(0, 80);
  for (const profile::Lock& lock : samples.profile(80, {}).locks)
    EXPECT_DOUBLE_EQ(lock.acquisitions, lock.place.address == kLock ? 90 : 30);
}

/// A counter file of process `id`, begun at `start_ns`, with `commits` at kLock.
void write_file(const std::filesystem::path& file, std::uint32_t id, std::uint64_t start_ns,
                std::uint64_t commits) {
  test::CounterFile content;
  content.header.process_id = id;
  content.header.start_monotonic_ns = start_ns;
  content.slots.resize(1);
  content.slots[0].thread_id = id;
  content.slots[0].entries[1].lock = kLock;
  content.slots[0].entries[1].commits = commits;
  content.write(file);
}

TEST(CountsOfProcess, AreThoseOfTheProgramThatItExecutedLast) {
  const TempDirectory directory;
  write_file(directory.path() / "0000.counters", 7, 1, 10);
  write_file(directory.path() / "0001.counters", 8, 2, 20);
  write_file(directory.path() / "0002.counters", 7, 3, 30);
  EXPECT_EQ(counts_by_lock(file_of_process(directory.path(), 7)).at(kLock).commits, 30u);
  EXPECT_EQ(counts_by_lock(file_of_process(directory.path(), 8)).at(kLock).commits, 20u);
  EXPECT_TRUE(file_of_process(directory.path(), 9).empty());
}

}  // namespace
}  // namespace elision::cli::experiment
