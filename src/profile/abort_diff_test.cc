// SPDX-License-Identifier: Apache-2.0
#include "profile/abort_diff.h"

#include <gtest/gtest.h>

namespace elision::profile {
namespace {

constexpr std::uint32_t kNoLine = 0;

AbortRow row(const char* cause, const char* function, std::uint32_t line, double samples, double aborts,
             std::uint64_t address = 0x40) {
  return {{address, function, line != kNoLine ? "q.c" : "", line}, cause, {}, {}, samples, aborts, 0};
}

/// A run whose samples have one period, with as many aborts and samples as the rows.
Profile run(std::vector<AbortRow> rows) {
  Profile profile;
  AbortEvents& events = profile.abort_events.emplace();
  events.counted = true;
  events.period = 10;
  for (const AbortRow& each : rows) events.aborts += each.aborts, events.samples += each.samples;
  events.rows = std::move(rows);
  return profile;
}

AbortEvents& events_of(Profile& profile) { return *profile.abort_events; }

Profile without_events(const char* why) {
  Profile profile;
  profile.abort_events.emplace().missing = why;
  return profile;
}

TEST(AbortDiff, RowsAreNewGoneOrInBoth) {
  const AbortDiff diff =
      diff_of_aborts(run({row("conflict", "push", 12, 60, 600), row("capacity", "copy", 3, 20, 200)}),
                     run({row("conflict", "push", 12, 10, 100), row("instruction", "log", 9, 30, 300)}));
  ASSERT_EQ(diff.rows.size(), 3U) << "the largest change first";
  EXPECT_EQ(diff.rows[0].place.name, "push");
  EXPECT_EQ(diff.rows[0].presence, Presence::kBoth);
  EXPECT_EQ(diff.rows[0].aborts.difference(), -500);
  EXPECT_EQ(diff.rows[0].samples_a, 60);
  EXPECT_EQ(diff.rows[0].samples_b, 10);
  EXPECT_EQ(diff.rows[1].cause, "instruction");
  EXPECT_EQ(diff.rows[1].place.line, 9U);
  EXPECT_EQ(diff.rows[1].presence, Presence::kOnlyB);
  EXPECT_EQ(diff.rows[1].aborts.difference(), 300);
  EXPECT_EQ(diff.rows[2].presence, Presence::kOnlyA);
  EXPECT_EQ(diff.rows[2].aborts.difference(), -200);
  EXPECT_EQ(diff.rows[2].aborts.b, 0);
}

TEST(AbortDiff, AnotherCauseIsAnotherRow) {
  const AbortDiff diff =
      diff_of_aborts(run({row("conflict", "push", 12, 6, 60)}), run({row("capacity", "push", 12, 6, 60)}));
  EXPECT_EQ(diff.rows.size(), 2U);
}

TEST(AbortDiff, CallersAndAddressesDoNotTellRowsApart) {
  Profile a = run({row("conflict", "push", 12, 6, 60), row("conflict", "push", 12, 4, 40)});
  events_of(a).rows[0].callers = {{0x99, "main"}};
  events_of(a).rows[1].inside = {{0x98, "add"}};
  const AbortDiff diff = diff_of_aborts(a, run({row("conflict", "push", 12, 5, 50, 0x1040)}));
  ASSERT_EQ(diff.rows.size(), 1U);
  EXPECT_EQ(diff.rows[0].aborts.a, 100);
  EXPECT_EQ(diff.rows[0].samples_a, 10);
  EXPECT_EQ(diff.rows[0].aborts.b, 50);
}

TEST(AbortDiff, LinesThatBothRunsHaveAreRowsOfTheirOwn) {
  const AbortDiff diff =
      diff_of_aborts(run({row("conflict", "push", 12, 6, 60), row("conflict", "push", 20, 3, 30)}),
                     run({row("conflict", "push", 12, 5, 50)}));
  ASSERT_EQ(diff.rows.size(), 2U);
  EXPECT_EQ(diff.rows[0].place.line, 20U);
  EXPECT_EQ(diff.rows[0].presence, Presence::kOnlyA);
  EXPECT_EQ(diff.rows[1].place.line, 12U);
  EXPECT_EQ(diff.rows[1].presence, Presence::kBoth);
}

TEST(AbortDiff, LinesThatMovedInAnotherBuildAreOneRowOfTheFunction) {
  const AbortDiff diff =
      diff_of_aborts(run({row("conflict", "push", 12, 6, 60), row("conflict", "push", 20, 3, 30)}),
                     run({row("conflict", "push", 14, 4, 40), row("conflict", "push", 22, 3, 30)}));
  ASSERT_EQ(diff.rows.size(), 1U);
  EXPECT_EQ(diff.rows[0].place.name, "push");
  EXPECT_EQ(diff.rows[0].place.file, "");
  EXPECT_EQ(diff.rows[0].place.line, kNoLine);
  EXPECT_EQ(diff.rows[0].presence, Presence::kBoth);
  EXPECT_EQ(diff.rows[0].aborts.difference(), -20);
}

TEST(AbortDiff, ABuildWithoutLinesMatchesByFunction) {
  const Profile with_lines = run({row("conflict", "push", 12, 6, 60), row("conflict", "push", 20, 3, 30)});
  const Profile without = run({row("conflict", "push", kNoLine, 4, 40)});
  for (const auto& diff : {diff_of_aborts(with_lines, without), diff_of_aborts(without, with_lines)}) {
    ASSERT_EQ(diff.rows.size(), 1U);
    EXPECT_EQ(diff.rows[0].presence, Presence::kBoth);
    EXPECT_EQ(std::abs(diff.rows[0].aborts.difference()), 50);
  }
}

TEST(AbortDiff, AFunctionHasOneRowWithoutALine) {
  const AbortDiff diff =
      diff_of_aborts(run({row("conflict", "push", kNoLine, 6, 60), row("conflict", "push", 20, 3, 30)}),
                     run({row("conflict", "push", kNoLine, 4, 40), row("conflict", "push", 22, 3, 30)}));
  ASSERT_EQ(diff.rows.size(), 1U);
  EXPECT_EQ(diff.rows[0].aborts.difference(), -20);
}

TEST(AbortDiff, PlacesWithoutANameAreToldApartByAddress) {
  const AbortDiff diff = diff_of_aborts(
      run({row("conflict", "", kNoLine, 6, 60, 0x40), row("conflict", "", kNoLine, 3, 30, 0)}),
      run({row("conflict", "", kNoLine, 6, 60, 0x48), row("conflict", "", kNoLine, 2, 20, 0)}));
  ASSERT_EQ(diff.rows.size(), 3U);
  EXPECT_TRUE(is_many(diff.rows[2].place));
  EXPECT_EQ(diff.rows[2].presence, Presence::kBoth);
}

TEST(AbortDiff, IntervalsAreThoseOfSharesOfAllAborts) {
  // A quarter and 35 % of 1000 samples, of 10,000 aborts: 10 points, and 1.96 sqrt(0.1875/1000 + 0.2275/1000)
  // = 4.0 points.
  const Profile a = run({row("conflict", "push", 1, 250, 2500), row("conflict", "rest", 2, 750, 7500)});
  const Profile b = run({row("conflict", "push", 1, 350, 3500), row("conflict", "rest", 2, 650, 6500)});
  const Change change = diff_of_aborts(a, b).rows[0].aborts;
  ASSERT_TRUE(change.bounds);
  EXPECT_NEAR(change.bounds->low, 600, 10);
  EXPECT_NEAR(change.bounds->high, 1400, 10);
  EXPECT_TRUE(change.is_clear());
  // With 20 samples the same shares do not differ for sure.
  const Profile few_a = run({row("conflict", "push", 1, 5, 2500), row("conflict", "rest", 2, 15, 7500)});
  const Profile few_b = run({row("conflict", "push", 1, 7, 3500), row("conflict", "rest", 2, 13, 6500)});
  EXPECT_FALSE(diff_of_aborts(few_a, few_b).rows[0].aborts.is_clear());
}

TEST(AbortDiff, MoreAbortsOfTheSamePlaceAreAClearChange) {
  // All samples of both runs are at one place, so only the numbers of all aborts differ: those are counted.
  const Change change = diff_of_aborts(run({row("conflict", "push", 1, 100, 1000)}),
                                       run({row("conflict", "push", 1, 100, 2000)}))
                            .rows[0]
                            .aborts;
  EXPECT_TRUE(change.is_clear());
  EXPECT_LE(change.bounds->low, 1000);
  EXPECT_GE(change.bounds->high, 1000);
}

TEST(AbortDiff, SamplesOfDifferentPeriodsTellLess) {
  Profile a = run({row("conflict", "push", 1, 250, 2500), row("conflict", "rest", 2, 750, 7500)});
  Profile b = run({row("conflict", "push", 1, 350, 3500), row("conflict", "rest", 2, 650, 6500)});
  const Bounds narrow = *diff_of_aborts(a, b).rows[0].aborts.bounds;
  events_of(a).equal_samples = events_of(b).equal_samples = 10;  // of cycles, where periods are equal
  EXPECT_EQ(diff_of_aborts(a, b).rows[0].aborts.bounds->low, narrow.low);
  events_of(a).period = events_of(b).period = 0;
  EXPECT_FALSE(diff_of_aborts(a, b).rows[0].aborts.is_clear());
}

TEST(AbortDiff, AbortsThatWereNotSampledMayBeAnywhere) {
  const Profile a = run({row("conflict", "push", 1, 100, 1000)});
  Profile b = run({});
  EXPECT_TRUE(diff_of_aborts(a, b).rows[0].aborts.is_clear()) << "it had no abort";
  events_of(b).aborts = 1000;
  EXPECT_FALSE(diff_of_aborts(a, b).rows[0].aborts.is_clear());
}

TEST(AbortDiff, TotalsAreCountedAndCyclesHaveBoundsIfTheyAreEstimated) {
  Profile a = run({row("conflict", "push", 1, 100, 1000)}), b = run({row("conflict", "push", 1, 100, 500)});
  events_of(a).commits = 2000;
  events_of(a).cycles = 1e6;
  events_of(b).cycles = 5e5;
  events_of(a).equal_samples = events_of(b).equal_samples = 49;
  const AbortDiff diff = diff_of_aborts(a, b);
  EXPECT_EQ(diff.aborts.difference(), -500);
  EXPECT_FALSE(diff.aborts.bounds);
  EXPECT_EQ(diff.commits.a, 2000);
  EXPECT_EQ(diff.a.per_commit, 0.5);
  EXPECT_FALSE(diff.b.per_commit) << "no commit is known";
  EXPECT_EQ(diff.cycles.difference(), -5e5);
  // 28 % of each, since 1.96 / sqrt(49) = 0.28.
  EXPECT_NEAR(diff.cycles.bounds->low, -5e5 - std::hypot(2.8e5, 1.4e5), 100);
  EXPECT_NEAR(diff.cycles.bounds->high, -5e5 + std::hypot(2.8e5, 1.4e5), 100);
  events_of(a).counted_cycles = 1.1e6;
  EXPECT_EQ(diff_of_aborts(a, b).cycles.a, 1e6) << "numbers of one kind are compared";
  events_of(b).counted_cycles = 6e5;
  EXPECT_EQ(diff_of_aborts(a, b).cycles.difference(), -5e5);
  EXPECT_FALSE(diff_of_aborts(a, b).cycles.bounds);
}

TEST(AbortDiff, WithoutEventsOfOneRunSaysWhyAndHasNoRows) {
  const Profile a = run({row("conflict", "push", 12, 6, 60)});
  const AbortDiff diff = diff_of_aborts(a, without_events("there is no such event"));
  EXPECT_FALSE(diff.is_known());
  EXPECT_EQ(diff.a.missing, "");
  EXPECT_EQ(diff.b.missing, "there is no such event");
  EXPECT_TRUE(diff.rows.empty());
  EXPECT_EQ(diff_of_aborts(Profile(), a).a.missing,
            "an earlier version recorded it, or a virtual machine, which samples none");
  EXPECT_TRUE(diff_of_aborts(a, a).is_known());
}

/// Line 12 is in both runs, and other code moved.
TEST(AbortDiff, ARowOfOtherLinesSaysSo) {
  const AbortDiff diff =
      diff_of_aborts(run({row("conflict", "push", 12, 6, 60), row("conflict", "push", 20, 3, 30)}),
                     run({row("conflict", "push", 12, 2, 20), row("conflict", "push", 25, 1, 10)}));
  ASSERT_EQ(diff.rows.size(), 2u);
  for (const AbortChange& change : diff.rows) EXPECT_EQ(change.other_lines, change.place.line == 0);
}

}  // namespace
}  // namespace elision::profile
