// SPDX-License-Identifier: Apache-2.0
#include "profile/diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/property_for_test.h"
#include "profile/analysis.h"
#include "profile/random_profile_for_test.h"

namespace elision::profile {
namespace {

/// 1000 ns of four threads, `waiting` ns of them for "hot".
Profile waiting_for(double waiting, std::uint64_t samples = 0) {
  Profile profile;
  profile.exact = samples == 0;
  profile.samples = samples;
  profile.wall_ns = profile.parallel_ns = 1000;
  time_in(profile.times, State::kWaiting) = waiting;
  time_in(profile.times, State::kOutside) = 4000 - waiting;
  Lock hot;
  hot.place = {64, "hot"};
  hot.waits_ns = time_in(hot.times, State::kWaiting) = waiting;
  profile.locks = {hot};
  return profile;
}

void wait_at(Lock& lock, double ns) { lock.waits_ns = time_in(lock.times, State::kWaiting) = ns; }

std::string verdict(const Profile& a, const Profile& b) { return verdict_of(diff(a, b)); }

bool is_none(const ShareChange& change) { return change.difference() == 0 && !change.is_clear(); }

bool is_close(double a, double b) { return std::abs(a - b) < 1e-9; }

bool is_opposite(const ShareChange& one, const ShareChange& other) {
  if (one.a != other.b || one.b != other.a || one.bounds.has_value() != other.bounds.has_value())
    return false;
  return !one.bounds ||
         (is_close(one.bounds->low, -other.bounds->high) && is_close(one.bounds->high, -other.bounds->low));
}

template <std::size_t n>
bool are_opposite(const std::array<ShareChange, n>& one, const std::array<ShareChange, n>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), is_opposite);
}

TEST(Diff, OfAProfileWithItselfIsNone) {
  check_property(200, [] {
    for (const bool exact : {false, true}) {
      const Profile profile = random_profiles(1, exact).front();
      const ProfileDiff none = diff(profile, profile);
      RC_ASSERT(std::all_of(none.states.begin(), none.states.end(), is_none));
      RC_ASSERT(is_none(none.lost));
      for (const LockChange& lock : none.locks) {
        RC_ASSERT(lock.presence == Presence::kBoth);
        RC_ASSERT(is_none(lock.lost) && is_none(lock.waiting) && is_none(lock.aborted));
        RC_ASSERT(lock.acquisitions_a == lock.acquisitions_b);
      }
      for (const EndChange& end : none.ends) RC_ASSERT(end.share_a == end.share_b);
      for (const FunctionChange& function : none.functions) {
        RC_ASSERT(is_none(function.inclusive) && is_none(function.exclusive));
        RC_ASSERT(std::all_of(function.inclusive_states.begin(), function.inclusive_states.end(), is_none));
      }
      for (const Change& change : {none.aborts.aborts, none.aborts.commits, none.aborts.cycles})
        RC_ASSERT(is_none(change));
      for (const AbortChange& row : none.aborts.rows)
        RC_ASSERT(row.presence == Presence::kBoth && is_none(row.aborts));
      if (is_sufficient(profile)) RC_ASSERT(verdict_of(none).starts_with("No difference"));
    }
  });
}

TEST(Diff, TheOtherWayRoundIsOpposite) {
  check_property(200, [] {
    const std::vector<Profile> p = random_profiles(2, *rc::gen::arbitrary<bool>());
    const ProfileDiff one = diff(p[0], p[1]), other = diff(p[1], p[0]);
    RC_ASSERT(are_opposite(one.states, other.states));
    RC_ASSERT(is_opposite(one.lost, other.lost));
    RC_ASSERT(one.locks.size() == other.locks.size());
    for (std::size_t i = 0; i < one.locks.size(); ++i) {
      RC_ASSERT(one.locks[i].name == other.locks[i].name);
      RC_ASSERT((one.locks[i].presence == Presence::kBoth) == (other.locks[i].presence == Presence::kBoth));
      RC_ASSERT(is_opposite(one.locks[i].lost, other.locks[i].lost));
      RC_ASSERT(is_opposite(one.locks[i].overhead, other.locks[i].overhead));
    }
    RC_ASSERT(one.ends.size() == other.ends.size());
    for (std::size_t i = 0; i < one.ends.size(); ++i) RC_ASSERT(one.ends[i].count_a == other.ends[i].count_b);
    RC_ASSERT(is_opposite(one.aborts.cycles, other.aborts.cycles));
    RC_ASSERT(one.aborts.rows.size() == other.aborts.rows.size());
    for (std::size_t i = 0; i < one.aborts.rows.size(); ++i) {
      RC_ASSERT(one.aborts.rows[i].cause == other.aborts.rows[i].cause);
      RC_ASSERT(one.aborts.rows[i].place.name == other.aborts.rows[i].place.name);
      RC_ASSERT(one.aborts.rows[i].place.line == other.aborts.rows[i].place.line);
      RC_ASSERT(is_opposite(one.aborts.rows[i].aborts, other.aborts.rows[i].aborts));
    }
    RC_ASSERT(one.functions.size() == other.functions.size());
    for (std::size_t i = 0; i < one.functions.size(); ++i) {
      RC_ASSERT(one.functions[i].name == other.functions[i].name);
      RC_ASSERT(is_opposite(one.functions[i].inclusive, other.functions[i].inclusive));
      RC_ASSERT(are_opposite(one.functions[i].exclusive_states, other.functions[i].exclusive_states));
    }
  });
}

TEST(Diff, AbortsOfRowsAreThoseOfTheProfiles) {
  check_property(200, [] {
    const std::vector<Profile> p = random_profiles(2);
    const AbortDiff d = diff(p[0], p[1]).aborts;
    if (!d.is_known()) return;
    double in_a = 0, in_b = 0;
    for (const AbortRow& row : p[0].abort_events->rows) in_a += row.aborts;
    for (const AbortRow& row : p[1].abort_events->rows) in_b += row.aborts;
    for (const AbortChange& row : d.rows) {
      in_a -= row.aborts.a, in_b -= row.aborts.b;
      RC_ASSERT(row.aborts.bounds->low <= row.aborts.difference());
      RC_ASSERT(row.aborts.bounds->high >= row.aborts.difference());
    }
    RC_ASSERT(in_a == 0 && in_b == 0);
  });
}

TEST(Diff, SharesAreThoseOfAWhole) {
  check_property(200, [] {
    const std::vector<Profile> p = random_profiles(2);
    const ProfileDiff d = diff(p[0], p[1]);
    ShareChange sum;
    for (const ShareChange& state : d.states) sum.a += state.a, sum.b += state.b;
    RC_ASSERT(is_close(sum.a, 1) && is_close(sum.b, 1));
    ShareChange ends;
    for (const EndChange& end : d.ends) ends.a += end.share_a, ends.b += end.share_b;
    RC_ASSERT(is_close(ends.a, d.attempts_a > 0 ? 1 : 0) && is_close(ends.b, d.attempts_b > 0 ? 1 : 0));
    double exclusive = 0;
    for (const FunctionChange& function : d.functions) {
      exclusive += function.exclusive.a;
      RC_ASSERT(function.exclusive.a <= function.inclusive.a && function.inclusive.a <= 1 + 1e-9);
      double states = 0;
      for (const ShareChange& state : function.inclusive_states) states += state.a;
      RC_ASSERT(is_close(states, function.inclusive.a));
    }
    RC_ASSERT(exclusive <= 1 + 1e-9);
  });
}

TEST(Diff, SamplesHaveAnUncertaintyAndExactProfilesHaveNone) {
  Profile exact = waiting_for(1000);
  exact.samples = 7;  // as of its call paths
  EXPECT_FALSE(diff(exact, waiting_for(1001)).lost.bounds);
  EXPECT_TRUE(diff(waiting_for(1000), waiting_for(1001)).lost.is_clear());
  const ShareChange sampled = diff(waiting_for(1000, 1000), waiting_for(1400, 1000)).lost;
  ASSERT_TRUE(sampled.bounds);
  // A quarter and 35 % of 1000 samples: 10 points, and 1.96 sqrt(0.1875/1000 + 0.2275/1000) = 4.0.
  EXPECT_NEAR(sampled.bounds->low, 0.06, 0.001);
  EXPECT_NEAR(sampled.bounds->high, 0.14, 0.001);
  EXPECT_TRUE(sampled.is_clear());
  EXPECT_FALSE(diff(waiting_for(1000, 1000), waiting_for(1100, 1000)).lost.is_clear());
  EXPECT_TRUE(diff(waiting_for(1000, 100'000), waiting_for(1100, 100'000)).lost.is_clear());
}

TEST(Diff, ASideThatIsExactAddsNoUncertainty) {
  const ShareChange both = diff(waiting_for(1000, 1000), waiting_for(1400, 1000)).lost;
  const ShareChange one = diff(waiting_for(1000, 1000), waiting_for(1400)).lost;
  EXPECT_LT(one.bounds->high - one.bounds->low, 0.8 * (both.bounds->high - both.bounds->low));
}

TEST(Diff, LocksAreMatchedByNameAndOtherwiseByCallSites) {
  Profile a = waiting_for(1000), b = waiting_for(500);
  Lock queue, gone, fresh;
  queue.place = {128};
  queue.site = {9, "push", "q.c", 3};
  queue.other_sites = {{10, "pop", "q.c", 8}};
  wait_at(queue, 100);
  gone.place = {256, "gone"};
  wait_at(gone, 40);
  fresh.place = {512, "fresh"};
  wait_at(fresh, 80);
  a.locks.insert(a.locks.end(), {queue, gone});
  queue.place = {129};
  queue.site = {19, "pop", "q.c", 8};
  queue.other_sites = {};
  wait_at(queue, 300);
  b.locks.insert(b.locks.end(), {queue, fresh});
  const ProfileDiff d = diff(a, b);
  ASSERT_EQ(d.locks.size(), 4u);
  EXPECT_EQ(d.locks[0].name, "hot");
  EXPECT_EQ(d.locks[1].name, "the lock taken at q.c:3");
  EXPECT_EQ(d.locks[1].presence, Presence::kBoth);
  EXPECT_DOUBLE_EQ(d.locks[1].lost.difference(), 200.0 / 4000);
  EXPECT_EQ(d.locks[2].name, "fresh");
  EXPECT_EQ(d.locks[2].presence, Presence::kOnlyB);
  EXPECT_EQ(d.locks[3].presence, Presence::kOnlyA);
}

TEST(Diff, LostTimeOfALockHasItsOverheadOnce) {
  Profile a = waiting_for(1000), b = waiting_for(1000);
  time_in(b.times, State::kOutside) -= 200;
  time_in(b.times, State::kOverhead) = time_in(b.locks[0].times, State::kOverhead) = 200;
  b.locks[0].waits_ns = 1200;  // overhead included
  b.threads = {{1, "main"}};
  b.paths = {{State::kOverhead, 0, 0, {}, 900, 9}};  // of all of the run
  const ProfileDiff d = diff(a, b);
  EXPECT_DOUBLE_EQ(d.locks[0].overhead.difference(), 0.05);
  EXPECT_DOUBLE_EQ(d.locks[0].lost.difference(), 0.05);
  EXPECT_DOUBLE_EQ(d.locks[0].lost.b, d.lost.b);
}

TEST(Diff, NoLockLosesMoreThanAllTogether) {
  check_property(200, [] {
    for (const bool exact : {false, true}) {
      const std::vector<Profile> profiles = random_profiles(2, exact);
      const ProfileDiff d = diff(profiles[0], profiles[1]);
      for (const LockChange& lock : d.locks) {
        RC_ASSERT(lock.lost.a <= d.lost.a + 1e-9 && lock.lost.b <= d.lost.b + 1e-9);
        RC_ASSERT(is_close(lock.lost.b, lock.waiting.b + lock.aborted.b + lock.overhead.b));
      }
    }
  });
}

TEST(Diff, EndsOfAttemptsAreCountedOverAllLocks) {
  Profile a = waiting_for(0), b = waiting_for(0);
  a.locks[0].commits = 90;
  a.locks[0].aborts = {{"conflict", 8}, {"other", 2}};
  a.locks.push_back(a.locks[0]);
  b.locks[0].commits = 10;
  b.locks[0].fallbacks = 3;
  b.locks[0].aborts = {{"conflict", 10}, {"capacity", 0}};
  const ProfileDiff d = diff(a, b);
  ASSERT_EQ(d.ends.size(), 3u);
  EXPECT_EQ(d.ends[0].name, "commits");
  EXPECT_EQ(d.ends[0].count_a, 180);
  EXPECT_DOUBLE_EQ(d.ends[0].share_a, 0.9);
  EXPECT_DOUBLE_EQ(d.ends[0].share_b, 0.5);
  EXPECT_EQ(d.ends[1].name, "conflict");
  EXPECT_EQ(d.ends[2].name, "other");
  EXPECT_EQ(d.fallbacks_b, 3);
}

TEST(Diff, AFunctionThatCallsItselfCountsOnce) {
  Profile a = waiting_for(1000);
  a.threads = {{1, "main"}};
  a.frames = {{1, "main"}, {2, "walk"}, {3, "walk"}};
  a.paths = {{State::kOutside, Path::kNoLock, 0, {0, 1, 2}, 60, 6},
             {State::kWaiting, 0, 0, {0, 1}, 30, 3},
             {State::kOutside, Path::kNoLock, 0, {0}, 10, 1}};
  const ProfileDiff d = diff(a, waiting_for(1000));
  ASSERT_EQ(d.functions.size(), 2u);
  EXPECT_EQ(d.functions[0].name, "main");
  EXPECT_DOUBLE_EQ(d.functions[0].inclusive.a, 1);
  EXPECT_DOUBLE_EQ(d.functions[0].exclusive.a, 0.1);
  EXPECT_EQ(d.functions[1].name, "walk");
  EXPECT_DOUBLE_EQ(d.functions[1].inclusive.a, 0.9);
  EXPECT_DOUBLE_EQ(d.functions[1].exclusive.a, 0.9);
  EXPECT_DOUBLE_EQ(d.functions[1].inclusive_states[static_cast<std::size_t>(State::kWaiting)].a, 0.3);
  EXPECT_EQ(d.functions[1].inclusive.b, 0);
}

TEST(Verdict, SaysHowMuchLessIsLostAndWhere) {
  EXPECT_EQ(verdict(waiting_for(1640), waiting_for(480)),
            "B loses 12 % of its threads' time at locks, A 41 %: 29 points less, most of it for hot.");
  EXPECT_EQ(verdict(waiting_for(480), waiting_for(1640)),
            "B loses 41 % of its threads' time at locks, A 12 %: 29 points more, most of it for hot.");
  EXPECT_EQ(verdict(waiting_for(1640, 1000), waiting_for(480, 1000)),
            "B loses 12 % of its threads' time at locks, A 41 %: 25.3 to 32.6 points less, most of it for "
            "hot.");
}

TEST(Verdict, SaysSoIfNothingDiffers) {
  EXPECT_EQ(verdict(waiting_for(1000, 1000), waiting_for(1100, 1000)),
            "No difference beyond the uncertainty: at locks A loses 25 % of its threads' time, B 28 %.");
  EXPECT_EQ(
      verdict(waiting_for(1000), waiting_for(1010)),
      "No difference beyond half a percent of the time: at locks A loses 25 % of its threads' time, B 25 "
      "%.");
}

TEST(Verdict, NamesAnotherStateIfLocksDoNotDiffer) {
  const Profile a = waiting_for(1000, 1000);
  Profile b = a;
  time_in(b.times, State::kOutside) = 1000;
  time_in(b.times, State::kBlocked) = 2000;
  EXPECT_EQ(
      verdict(a, b),
      "B spends 25 % of its threads' time outside of locks, A 75 %: 46.1 to 53.7 points less; at locks A "
      "loses 25 % of its threads' time, B 25 %, which is no difference beyond the uncertainty.");
}

TEST(Verdict, AStateThatWasChosenNeedsAWiderMargin) {
  const Profile a = waiting_for(1000, 1000);
  Profile b = a;
  time_in(b.times, State::kOutside) = 2800;
  time_in(b.times, State::kSection) = 180;
  time_in(b.times, State::kBlocked) = 20;
  const ProfileDiff d = diff(a, b);
  EXPECT_TRUE(d.states[static_cast<std::size_t>(State::kOutside)].is_clear());
  EXPECT_NE(verdict_of(d).find("holding a lock"), std::string::npos);
  time_in(b.times, State::kOutside) = 2990;
  time_in(b.times, State::kSection) = 0;
  time_in(b.times, State::kBlocked) = 10;
  EXPECT_TRUE(verdict(a, b).starts_with("No difference"));
}

TEST(Verdict, TooFewSamplesSayNothing) {
  EXPECT_EQ(verdict(waiting_for(1000, 100), waiting_for(10, 1000)),
            "Too little is known of A: it takes 200 samples while two or more threads are alive.");
  EXPECT_TRUE(
      verdict(waiting_for(1000, 1000), waiting_for(10, 199)).starts_with("Too little is known of B:"));
  EXPECT_TRUE(verdict({}, {}).starts_with("Too little is known of A and B:"));
}

}  // namespace
}  // namespace elision::profile
