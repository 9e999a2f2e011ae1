// SPDX-License-Identifier: Apache-2.0
#include "profile/account.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "base/property_for_test.h"

namespace elision::profile {
namespace {

using abi::Activity;

constexpr int kLock = 64, kOther = 128;
const void* lock_at(int number) { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(number)); }

/// Threads whose activities are changed as the lock library does, at given times.
class Threads : public ::testing::Test {
 protected:
  struct One {
    abi::ThreadActivity activity;
    Account::Thread thread;
  };

  Threads() { restart(); }
  void restart() {
    account_ = Account();
    account_.threads_change(2, 0);
    for (One& one : threads_) {
      one.activity = {};
      account_.begin(one.thread, 0, 0);
      one.activity.forget_held();
      seen(one, 0);
    }
  }
  void seen(One& one, Account::Time now, Account::Time parked = 0) {
    account_.change(one.thread, one.activity, now, parked);
  }
  void begin(One& one, Activity activity, Account::Time now) {
    one.activity.begin(activity, lock_at(kLock), lock_at(1));
    seen(one, now);
  }
  void take(One& one, int lock, Account::Time now) {
    one.activity.take(lock_at(lock), lock_at(1));
    seen(one, now);
  }
  void release(One& one, Account::Time now) {
    one.activity.release();
    seen(one, now);
  }
  void end(One& one, Account::Time now) {
    one.activity.end();
    seen(one, now);
  }
  /// All until `now`, when both threads end.
  Profile finished(Account::Time now) {
    for (One& one : threads_) account_.end(one.thread, now, 0);
    return account_.profile(now, 1.0, 4);
  }
  static double time(const Profile& profile, State state) { return time_in(profile.times, state); }
  /// kLock was held for `outer` and kOther for `inner`.
  static void expect_holds(const Profile& profile, double outer, double inner) {
    ASSERT_EQ(profile.locks.size(), 2u);
    for (const Lock& lock : profile.locks)
      EXPECT_EQ(lock.holds_ns, lock.place.address == kLock ? outer : inner);
  }

  Account account_;
  One threads_[2];
  One& a_ = threads_[0];
  One& b_ = threads_[1];
};

TEST_F(Threads, EveryMomentIsInOneState) {
  take(a_, kLock, 10);
  begin(b_, Activity::kWaiting, 20);
  release(a_, 50);
  take(b_, kLock, 55);
  release(b_, 70);
  const Profile profile = finished(100);
  EXPECT_EQ(time(profile, State::kSection), 40 + 15);
  EXPECT_EQ(time(profile, State::kWaiting), 35);
  EXPECT_EQ(time(profile, State::kOutside), 10 + 50 + 20 + 30);
  EXPECT_EQ(profile.thread_ns(), 200);
  ASSERT_EQ(profile.locks.size(), 1u);
  const Lock& lock = profile.locks.front();
  EXPECT_EQ(lock.acquisitions, 2);
  EXPECT_EQ(lock.contended, 1);
  EXPECT_EQ(lock.waits_ns, 35);
  EXPECT_EQ(lock.longest_wait_ns, 35);
  EXPECT_EQ(lock.holds_ns, 55);
}

TEST_F(Threads, AttemptsAreToldByTheirEnd) {
  begin(a_, Activity::kAttempt, 10);
  a_.activity.mark();
  seen(a_, 30);  // aborted, and begun again
  begin(a_, Activity::kOverhead, 40);
  begin(a_, Activity::kAttempt, 50);
  end(a_, 80);
  const Profile profile = finished(100);
  EXPECT_EQ(time(profile, State::kAborted), 30);
  EXPECT_EQ(time(profile, State::kOverhead), 10);
  EXPECT_EQ(time(profile, State::kAttempt), 30);
  const Lock& lock = profile.locks.front();
  EXPECT_EQ(lock.attempts, 3);
  EXPECT_EQ(lock.commits, 1);
  EXPECT_EQ(lock.acquisitions, 1);
  EXPECT_EQ(lock.aborted_ns, 30);
  EXPECT_EQ(lost_ns(lock), 40);
  EXPECT_EQ(lock.holds_ns, 30);
}

/// Random activities that last random times.
TEST_F(Threads, TimesAtLocksArePartsOfAllTimes) {
  check_property(200, [this] {
    restart();
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    constexpr Activity kEntering[] = {Activity::kWaiting, Activity::kOverhead, Activity::kAttempt,
                                      Activity::kSpeculating};
    Account::Time now = 0;
    for (int round = 0; round < 30; ++round) {
      One& one = threads_[random.below(2)];
      const int lock = random.below(2) == 0 ? kLock : kOther;
      for (std::uint64_t steps = random.below(6); steps > 0; --steps) {
        one.activity.begin(kEntering[random.below(4)], lock_at(lock), lock_at(1));
        seen(one, now += random.below(20));
      }
      take(one, lock, now += random.below(20));
      release(one, now += random.below(20));
    }
    const Profile profile = finished(now + 5);
    StateTimes at_locks{};
    for (const Lock& lock : profile.locks) {
      RC_ASSERT(lost_ns(lock) <= lost_ns(profile.times));
      for (std::size_t i = 0; i < kStates; ++i) at_locks[i] += lock.times[i];
    }
    for (const State state : {State::kWaiting, State::kSpeculating, State::kAborted, State::kOverhead})
      RC_ASSERT(time_in(at_locks, state) == time_in(profile.times, state));
    for (std::size_t i = 0; i < kStates; ++i) RC_ASSERT(at_locks[i] <= profile.times[i]);
  });
}

TEST_F(Threads, FallbackIsNoOrdinarySection) {
  begin(a_, Activity::kAttempt, 10);
  begin(a_, Activity::kOverhead, 20);
  take(a_, kLock, 30);
  a_.activity.is_fallback();
  seen(a_, 30);
  release(a_, 60);
  const Profile profile = finished(100);
  EXPECT_EQ(time(profile, State::kFallback), 30);
  EXPECT_EQ(time(profile, State::kSection), 0);
  EXPECT_EQ(profile.locks.front().fallbacks, 1);
  EXPECT_EQ(profile.locks.front().commits, 0);
}

TEST_F(Threads, InnerLockDoesNotEndTheOuterSection) {
  take(a_, kLock, 10);
  take(a_, kOther, 20);
  release(a_, 40);
  release(a_, 70);
  const Profile profile = finished(100);
  EXPECT_EQ(time(profile, State::kSection), 60);
  expect_holds(profile, 60, 20);
}

TEST_F(Threads, AttemptUnderAHeldLockReturnsToIt) {
  take(a_, kOther, 10);
  begin(a_, Activity::kAttempt, 20);
  end(a_, 30);
  release(a_, 50);
  const Profile profile = finished(100);
  EXPECT_EQ(time(profile, State::kAttempt), 10);
  EXPECT_EQ(time(profile, State::kSection), 30);
}

TEST_F(Threads, WaitForASetOfLocksIsThatOfTheLockWaitedFor) {
  begin(a_, Activity::kWaiting, 10);  // for kLock
  take(a_, kOther, 50);
  take(a_, kLock, 50);
  for (const Lock& lock : finished(60).locks) {
    const bool is_waited_for = lock.place.address == kLock;
    EXPECT_EQ(lock.acquisitions, 1);
    EXPECT_EQ(lock.contended, is_waited_for ? 1 : 0);
    EXPECT_EQ(lock.waits_ns, is_waited_for ? 40 : 0);
    EXPECT_EQ(lock.longest_wait_ns, is_waited_for ? 40 : 0);
  }
}

TEST_F(Threads, SleepOutsideOfLocksIsBlocked) {
  take(a_, kLock, 50);
  account_.end(b_.thread, 100, 0);
  seen(a_, 60, 30);  // parked since the section began: it holds the lock
  a_.activity.release();
  seen(a_, 70, 30);
  seen(a_, 90, 45);  // and 15 of the 20 after it
  account_.end(a_.thread, 100, 45);
  const Profile profile = account_.profile(100, 1.0, 4);
  EXPECT_EQ(time(profile, State::kSection), 20);
  EXPECT_EQ(time(profile, State::kBlocked), 15);
}

TEST(Account, LastsFromItsBegin) {
  Account account(70);
  account.threads_change(2, 70);
  const Profile profile = account.profile(100, 2.0, 4);
  EXPECT_EQ(profile.wall_ns, 60);
  EXPECT_EQ(profile.parallel_ns, 60);
}

TEST(Account, OnlyThePartWithManyThreadsCounts) {
  Account account;
  Account::Thread first, second;
  account.threads_change(1, 0);
  account.begin(first, 0, 0);
  account.threads_change(2, 100);
  account.begin(second, 100, 0);
  account.end(second, 140, 0);
  account.threads_change(1, 140);
  account.end(first, 200, 0);
  const Profile profile = account.profile(200, 1.0, 4);
  EXPECT_EQ(profile.wall_ns, 200);
  EXPECT_EQ(profile.parallel_ns, 40);
  EXPECT_EQ(profile.thread_ns(), 80);
  EXPECT_EQ(profile.most_threads, 2u);
}

TEST_F(Threads, ALockIsHeldWhileItsHolderWaitsForAnother) {
  take(a_, kLock, 10);
  a_.activity.begin(Activity::kWaiting, lock_at(kOther), lock_at(1));
  seen(a_, 20);
  take(a_, kOther, 50);
  account_.system_call(a_.thread);
  release(a_, 60);
  release(a_, 70);
  const Profile profile = finished(100);
  EXPECT_EQ(time(profile, State::kWaiting), 30);
  expect_holds(profile, 60, 10);
  for (const Lock& lock : profile.locks)
    EXPECT_EQ(lock.system_calls, 1) << "a section ends where its lock is released";
}

TEST_F(Threads, CallSitesAreOrderedByTheirTime) {
  const auto take_at = [&](int site, Account::Time begin, Account::Time end) {
    a_.activity.take(lock_at(kLock), lock_at(site));
    seen(a_, begin);
    release(a_, end);
  };
  take_at(1, 10, 20);
  take_at(2, 20, 50);
  take_at(3, 50, 65);
  const Profile profile = finished(100);
  const Lock& lock = profile.locks.front();
  const auto number_of = [](const Place& site) { return reinterpret_cast<const void*>(site.address); };
  EXPECT_EQ(number_of(lock.site), lock_at(2));
  ASSERT_EQ(lock.other_sites.size(), 2u);
  EXPECT_EQ(number_of(lock.other_sites[0]), lock_at(3));
  EXPECT_EQ(number_of(lock.other_sites[1]), lock_at(1));
}

TEST_F(Threads, OneLookAtCallersOfALockThatNobodyWaitsFor) {
  take(a_, kLock, 10);
  EXPECT_TRUE(account_.claim_callers_look(a_.thread));
  EXPECT_FALSE(account_.claim_callers_look(a_.thread));
  take(a_, kOther, 20);
  release(a_, 30);
  EXPECT_FALSE(account_.claim_callers_look(a_.thread)) << "it is in no lock call";
}

TEST_F(Threads, CallersOfTheCallSiteWithMostTimeAreTheMostFrequentOnes) {
  EXPECT_FALSE(account_.claim_callers_look(a_.thread));
  begin(a_, Activity::kWaiting, 10);
  unsigned looks = 0;
  while (account_.claim_callers_look(a_.thread)) ++looks;
  EXPECT_GT(looks, 2u);
  const std::uint64_t site = a_.thread.seen.site;
  account_.callers(kLock, site, {7, 8});
  account_.callers(kLock, site, {5, 6});
  account_.callers(kLock, site, {5, 6});
  account_.callers(kLock, site + 1, {1});
  take(a_, kLock, 20);
  release(a_, 30);
  const Lock lock = finished(40).locks.front();
  ASSERT_EQ(lock.callers.size(), 2u);
  EXPECT_EQ(lock.callers[0].address, 5u);
  EXPECT_EQ(lock.callers[1].address, 6u);
}

// Accesses of 8 bytes.
Access access(std::uint64_t address, std::uint64_t pc) { return {address, pc, 8}; }

constexpr std::uint64_t kLine = 512, kPointer = 520, kCounter = 528;

TEST_F(Threads, ConflictsBelongToTheVictimsLock) {
  account_.conflict({.lock = kLock, .line = kLine, .victim = access(kLine, 7), .other = access(kPointer, 8)});
  account_.conflict({.lock = kLock, .line = kLine, .victim = access(kLine, 7), .other = access(kLine, 8)});
  const Profile profile = finished(30);
  ASSERT_EQ(profile.locks.size(), 1u);
  EXPECT_EQ(profile.locks.front().place.address, kLock);
  ASSERT_EQ(profile.locks.front().conflicts.size(), 1u);
  const Conflict& conflict = profile.locks.front().conflicts.front();
  EXPECT_EQ(conflict.counts.count, 2);
  EXPECT_EQ(conflict.counts.apart, 1);
  EXPECT_EQ(profile.locks.front().conflicts_seen.count, 2);
  EXPECT_EQ(profile.locks.front().conflicts_seen.apart, 1);
  EXPECT_EQ(conflict.data.address, kLine);
  EXPECT_EQ(conflict.victim.address, 7u);
  EXPECT_EQ(conflict.other.address, 8u);
}

TEST_F(Threads, ConflictOnTheLockItselfTellsNothing) {
  account_.conflict({.lock = kLine, .line = kLine, .victim = access(kLine, 7), .other = access(kLine, 8)});
  account_.conflict({.lock = kLine,
                     .line = kLine,
                     .victim = access(kLine + 32, 7),
                     .other = access(kLine + 16, 8),
                     .other_by_library = true});
  EXPECT_TRUE(finished(30).locks.empty());
}

/// The attempt of kLock has read a word of the lock at `victim`, and another thread writes one of the lock at
/// `written`.
Account::Collision at_locks(std::uint64_t victim, std::uint64_t written) {
  return {.lock = kLock,
          .line = kLock,
          .victim = access(victim, 7),
          .other = access(written, 8),
          .other_writes = true,
          .victim_by_library = true,
          .other_by_library = true,
          .other_thread = 1};
}

const Lock* with_conflicts(const Profile& profile) {
  for (const Lock& lock : profile.locks)
    if (lock.conflicts_seen.count != 0) return &lock;
  return nullptr;
}

TEST_F(Threads, WordsOfTheNextLockAreApart) {
  constexpr int kNext = kLock + 40;
  take(b_, kNext, 10);
  account_.conflict(at_locks(kLock, kNext + 8));
  const Profile profile = finished(30);
  const Lock* const lock = with_conflicts(profile);
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(lock->place.address, static_cast<std::uint64_t>(kLock));
  EXPECT_EQ(lock->conflicts_seen.apart, 1);
  EXPECT_EQ(lock->conflicts.front().data.address, static_cast<std::uint64_t>(kNext + 8));
  EXPECT_EQ(lock->conflicts_apart_at_lock, 0) << "another lock is no data of the sections";
}

TEST_F(Threads, AnotherThreadThatTakesAnInnerLockTellsNothing) {
  take(b_, kOther, 10);
  account_.conflict(at_locks(kOther, kOther));
  EXPECT_EQ(with_conflicts(finished(30)), nullptr);
}

TEST_F(Threads, LockThatIsGoneHasNoWords) {
  constexpr int kGone = kLock + 16;
  take(b_, kGone, 10);
  release(b_, 11);
  take(a_, kLock, 12);
  release(a_, 13);
  account_.conflict(at_locks(kLock, kGone + 8));
  EXPECT_EQ(with_conflicts(finished(30)), nullptr) << "of the lock that has the memory now";
}

TEST_F(Threads, PrefetchOfALineIsNoAccessToIt) {
  Account::Collision collision{.lock = kLock,
                               .line = kLine,
                               .victim = access(kLine, 7),
                               .other = access(kLine + 64, 8),
                               .other_writes = true,
                               .other_prefetched = true};
  account_.conflict(collision);
  collision.other = access(kLock, 9);  // a thread takes the lock, and fetches the data behind it
  collision.other_by_library = true;
  account_.conflict(collision);
  const Profile profile = finished(30);
  const Lock& lock = profile.locks.front();
  EXPECT_EQ(lock.conflicts_seen.count, 2);
  EXPECT_EQ(lock.conflicts_seen.prefetched, 2);
  EXPECT_EQ(lock.conflicts_seen.apart, 0);
  ASSERT_EQ(lock.conflicts.size(), 2u);
  EXPECT_EQ(lock.conflicts.front().data.address, kLine);
  EXPECT_EQ(lock.conflicts.front().other.address, 8u);
}

TEST_F(Threads, ConflictWithAnUnknownAccessIsOfNoKind) {
  account_.conflict({.lock = kLock, .line = kLine, .victim = access(kLine, 7), .other = {}});
  account_.conflict({.lock = kLock, .line = kLine, .victim = {}, .other = access(kLine, 8)});
  const Profile profile = finished(30);
  EXPECT_EQ(profile.locks.front().conflicts_seen.count, 2);
  EXPECT_EQ(profile.locks.front().conflicts_seen.unknown, 2);
}

TEST_F(Threads, DataBesideTheLockAreNamedAndNotTheReadOfTheLock) {
  const std::uint64_t data = kLine + 4;
  for (const std::uint64_t thread : {1, 2})
    account_.conflict({.lock = kLine,
                       .line = kLine,
                       .victim = access(kLine, 7),
                       .other = access(data, 8),
                       .other_writes = true,
                       .victim_by_library = true,
                       .other_thread = thread});
  const Profile profile = finished(30);
  ASSERT_EQ(profile.locks.size(), 1u);
  const Conflict& conflict = profile.locks.front().conflicts.front();
  EXPECT_EQ(conflict.data.address, data);
  EXPECT_EQ(conflict.victim.address, 0u);
  EXPECT_EQ(conflict.counts.count, 2);
  EXPECT_EQ(conflict.counts.apart, 0) << "both threads write them";
  EXPECT_TRUE(conflict.at_lock);
  EXPECT_EQ(profile.locks.front().conflicts_apart_at_lock, 0);
}

TEST_F(Threads, SectionsOfOtherLocksWriteNoDataOfThisLock) {
  const auto conflict_with = [](Access first) {
    Account account;
    for (const std::uint64_t thread : {1, 2})
      account.conflict({.lock = kLine,
                        .line = kLine,
                        .victim = access(kLine, 7),
                        .other = access(kLine + 8, 8),
                        .other_first = first,
                        .other_writes = true,
                        .other_under_other_locks = true,
                        .victim_by_library = true,
                        .other_thread = thread});
    return account.profile(30, 1, 2).locks.front();
  };
  const Lock neighbour = conflict_with({});
  EXPECT_EQ(neighbour.conflicts_seen.apart, 2) << "both threads write them, but not under this lock";
  EXPECT_EQ(neighbour.conflicts_apart_at_lock, 0);
  EXPECT_EQ(neighbour.conflicts.front().data.address, kLine + 8);
  EXPECT_EQ(neighbour.conflicts.front().victim.address, 7u);
  const Lock inner = conflict_with(access(kLine, 7));
  EXPECT_EQ(inner.conflicts_seen.apart, 0) << "it has taken this lock inside the other one";
}

TEST_F(Threads, WaitsInsideAreThoseOfTheHolder) {
  take(a_, kLock, 5);
  take(b_, kOther, 10);
  begin(b_, Activity::kWaiting, 20);
  const Profile profile = finished(100);
  ASSERT_EQ(profile.locks.size(), 2u);
  for (const Lock& lock : profile.locks) {
    EXPECT_EQ(lock.waits_inside_ns, lock.place.address == kLock ? 0 : 80);
    EXPECT_EQ(lock.inside, lock.place.address == kLock ? 0u : static_cast<std::uint64_t>(kLock));
  }
}

TEST_F(Threads, WaitsForLinesAreAddedUpByAccess) {
  account_.waited_for_line(kLock, access(kPointer, 7), false, 4);
  account_.waited_for_line(kLock, access(kCounter, 8), false, 5);
  account_.waited_for_line(kLock, access(kPointer, 7), false, 6);
  account_.waited_for_line(kOther, access(kCounter, 8), false, 1);
  account_.waited_for_line(kLock, access(kLock, 9), true, 100);
  const Profile profile = account_.profile(30, 2, 2);
  const auto lock = std::find_if(profile.locks.begin(), profile.locks.end(),
                                 [](const Lock& each) { return each.place.address == kLock; });
  ASSERT_NE(lock, profile.locks.end());
  EXPECT_EQ(lock->line_waits_ns, 30);
  ASSERT_EQ(lock->line_waits.size(), 2u);
  EXPECT_EQ(lock->line_waits[0].data.address, kPointer);
  EXPECT_EQ(lock->line_waits[0].site.address, 7u);
  EXPECT_EQ(lock->line_waits[0].ns, 20);
  EXPECT_EQ(lock->line_waits[1].ns, 10);
}

/// The victim had loaded a pointer, as the other thread before it wrote beside the pointer.
Account::Collision beside_pointer(std::uint64_t thread, std::uint64_t written) {
  return {.lock = kLock,
          .line = kLine,
          .victim = access(kPointer, 7),
          .other = access(written, 8),
          .other_first = access(kPointer, 7),
          .other_writes = true,
          .other_thread = thread};
}

TEST_F(Threads, WritesOfTheSameBytesOnTheWayFromTheSameLoadAreNotApart) {
  account_.conflict(beside_pointer(1, kCounter));
  account_.conflict(beside_pointer(2, kCounter));
  const Conflict conflict = finished(30).locks.front().conflicts.front();
  EXPECT_EQ(conflict.counts.count, 2);
  EXPECT_EQ(conflict.counts.apart, 0);
  EXPECT_EQ(conflict.data.address, kCounter);
}

TEST_F(Threads, WritesOfOwnBytesBesideASharedPointerAreApart) {
  account_.conflict(beside_pointer(1, kCounter));
  account_.conflict(beside_pointer(2, kCounter + 8));
  const Profile profile = finished(30);
  const Conflict& conflict = profile.locks.front().conflicts.front();
  EXPECT_EQ(conflict.counts.apart, 2);
  EXPECT_EQ(conflict.data.address, kPointer);
}

TEST_F(Threads, WritesOfOwnBytesAreApartThoughOtherBytesOfTheLineAreShared) {
  for (const std::uint64_t thread : {1, 2}) {
    account_.conflict(beside_pointer(thread, kCounter));
    account_.conflict(beside_pointer(thread, kCounter + 8 * thread));
    account_.conflict(beside_pointer(thread, kCounter + 8 * thread));
  }
  const Profile profile = finished(30);
  const Conflict& conflict = profile.locks.front().conflicts.front();
  EXPECT_EQ(conflict.counts.count, 6);
  EXPECT_EQ(conflict.counts.apart, 4);
  EXPECT_EQ(conflict.data.address, kCounter);
}

TEST_F(Threads, WritesOfTheSameBytesAfterOtherLoadsAreApart) {
  for (const std::uint64_t thread : {1, 2}) {
    Account::Collision collision = beside_pointer(thread, kCounter);
    collision.other_first = access(kLine, 7);
    account_.conflict(collision);
  }
  EXPECT_EQ(finished(30).locks.front().conflicts.front().counts.apart, 2);
}

TEST_F(Threads, PathsAreDueInProportionToTime) {
  constexpr Account::Time kLong = 3000, kShort = 1000, kOutside = 5000;
  constexpr unsigned kRounds = 20'000;
  std::map<std::uint64_t, double> time;
  std::map<std::uint64_t, unsigned> samples;
  Account::Time now = 0;
  One& one = threads_[0];
  const auto claim = [&] {
    const auto due = account_.claim_path(one.thread);
    if (!due) return;
    EXPECT_EQ(due->state, State::kSection);
    time[due->lock] += static_cast<double>(due->time);
    ++samples[due->lock];
    EXPECT_FALSE(account_.claim_path(one.thread)) << "once";
  };
  for (unsigned round = 0; round < kRounds; ++round)
    for (const auto& [lock, length] : {std::pair{kLock, kLong}, std::pair{kOther, kShort}}) {
      take(one, lock, now += kOutside);
      claim();
      release(one, now += length);
      claim();
    }
  const double count = samples[kLock] + samples[kOther], share = samples[kLock] / count;
  EXPECT_GT(count, 1000);
  EXPECT_NEAR(share, 0.75, 5 * std::sqrt(0.75 * 0.25 / count));
  // All time at locks but that since the last sample, and none outside.
  const double all = kRounds * static_cast<double>(kLong + kShort);
  EXPECT_LE(time[kLock] + time[kOther], all);
  EXPECT_GT(time[kLock] + time[kOther], all - 10'000);
}

TEST_F(Threads, HalvedPathsAreHalfAsMany) {
  constexpr Account::Time kLength = 100;
  Account::Time now = 0;
  One& one = threads_[0];
  const auto samples_in = [&](unsigned rounds) {
    unsigned samples = 0;
    for (unsigned round = 0; round < rounds; ++round) {
      take(one, kLock, now);
      release(one, now += kLength);
      samples += account_.claim_path(one.thread).has_value();
    }
    return samples;
  };
  const unsigned before = samples_in(400'000);
  account_.halve_paths();
  EXPECT_NEAR(samples_in(400'000), before / 2.0, 0.02 * before);
}

}  // namespace
}  // namespace elision::profile
