// SPDX-License-Identifier: Apache-2.0
// Aborts that the CPU counted in what `elision diff` writes.
#include "cli/show/diff_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/show/abort_changes.h"

namespace elision::cli::experiment {
namespace {

using nlohmann::json;
using profile::AbortEvents;
using profile::AbortRow;
using profile::Profile;

constexpr Appearance kPlain{};

AbortRow push_row(double samples, double aborts) {
  return {{0x40, "push()", "queue.cc", 12}, "conflict", {}, {}, samples, aborts, 0};
}
AbortRow copy_row(double samples, double aborts) {
  return {{0x80, "copy()"}, "capacity", {}, {}, samples, aborts, 0};
}

Profile with_aborts(std::vector<AbortRow> rows) {
  Profile profile;
  AbortEvents& events = profile.abort_events.emplace();
  events.counted = true;
  events.period = 100;
  events.commits = 20'000;
  for (const AbortRow& row : rows) events.aborts += row.aborts, events.samples += row.samples;
  events.counted_cycles = 200 * events.aborts;
  events.rows = std::move(rows);
  return profile;
}

const Profile kBefore = with_aborts({push_row(80, 8000), copy_row(20, 2000)});
const Profile kAfter = with_aborts({push_row(10, 1000)});

std::string text_of_diff(const Profile& a, const Profile& b) {
  return diff_text(profile::diff(a, b), kPlain);
}

TEST(DiffTables, HaveTheAbortsThatTheCpuCounted) {
  EXPECT_EQ(text_of_diff(kBefore, kAfter), R"~(
  aborts that the CPU counted      A     B  change
  aborts                       10.0k  1000   -9000
  aborts a commit                0.5  0.05   -0.45
  cycles lost                  2.00M  200k  -1.80M

  aborts by cause and place            A     B  change   95 % interval  in
  conflict at push() (queue.cc:12)  8000  1000   -7000  -7722 to -6112  both
  capacity at copy()                2000     -   -2000  -2888 to -1278  only A

Causes and places are from 100 samples in A, 10 in B.
)~");
}

TEST(DiffTables, EstimatedCyclesHaveAnInterval) {
  Profile estimated = kAfter;
  estimated.abort_events->counted_cycles = 0;
  estimated.abort_events->cycles = 250'000;
  estimated.abort_events->equal_samples = 4;
  const std::string text = text_of_diff(estimated, estimated);
  EXPECT_NE(text.find("cycles lost                  250k  250k       0  -346k to +346k\n"), std::string::npos)
      << text;
}

TEST(DiffTables, ShowTheRowsOfAbortsThatChangedMost) {
  Profile many = kAfter;
  for (std::uint32_t line = 100; line < 120; ++line) {
    many.abort_events->rows.push_back(push_row(1, 100 + line));
    many.abort_events->rows.back().place = {line, "work()", "main.cc", line};
  }
  const std::string text = text_of_diff(kBefore, many);
  // Of 22 rows.
  EXPECT_NE(text.find("7 more rows, with smaller changes, are left out."), std::string::npos) << text;
  EXPECT_NE(text.find("main.cc:119"), std::string::npos);
  EXPECT_EQ(text.find("main.cc:106"), std::string::npos);
  EXPECT_EQ(diff_json(profile::diff(kBefore, many))["abort_events"]["rows"].size(), 22U);
}

TEST(DiffTables, SayThatNoRowOfAbortsChanged) {
  const std::string text = text_of_diff(kBefore, kBefore);
  EXPECT_NE(text.find("No row changed beyond the uncertainty."), std::string::npos) << text;
  EXPECT_EQ(text_of_diff(kBefore, kAfter).find("No row changed"), std::string::npos);
}

TEST(DiffTables, SayHowAbortsWereCounted) {
  Profile sampled = kAfter;
  sampled.abort_events->counted = false;
  sampled.abort_events->lost = 3;
  sampled.abort_events->running = 0.5;
  const std::string note = abort_note(profile::diff(kBefore, sampled).aborts);
  EXPECT_EQ(
      note,
      "Causes and places are from 100 samples in A, 10 in B. In B not all aborts were counted; they are "
      "what its samples stand for, without 3 that were lost.");
  sampled.abort_events->counted = true;
  EXPECT_EQ(
      abort_note(profile::diff(kBefore, sampled).aborts),
      "Causes and places are from 100 samples in A, 10 in B. In B aborts were counted 50 % of the time; "
      "the rest is extrapolated.");
}

TEST(DiffTables, OneLineNamesTheProfileWithoutAborts) {
  Profile without;
  without.abort_events.emplace().missing = "there is no such event";
  const char* const line = "Only {} has aborts that the CPU counted; {} has none: there is no such event.";
  EXPECT_EQ(text_of_diff(kBefore, without), "\n" + fmt::format(fmt::runtime(line), "A", "B") + "\n");
  EXPECT_EQ(diff_markdown(profile::diff(without, kBefore)),
            "\n" + fmt::format(fmt::runtime(line), "B", "A") + "\n");
  EXPECT_EQ(text_of_diff(without, without), "");
  EXPECT_EQ(diff_json(profile::diff(kBefore, without))["abort_events"],
            json({{"missing", {{"b", "there is no such event"}}}}));
}

TEST(DiffTables, WithoutAnyAbortThereIsNoTable) {
  EXPECT_EQ(text_of_diff(with_aborts({}), with_aborts({})), "");
}

TEST(DiffTables, JsonHasTheAborts) {
  json events = diff_json(profile::diff(kBefore, kAfter))["abort_events"];
  json& rows = events["rows"];
  for (json& row : rows) {
    json& aborts = row["aborts"];
    EXPECT_LT(aborts["low"], aborts["difference"]);
    EXPECT_GT(aborts["high"], aborts["difference"]);
    aborts.erase("low");
    aborts.erase("high");
  }
  EXPECT_EQ(events, json::parse(R"~({
    "counted": {"a": true, "b": true}, "samples": {"a": 100.0, "b": 10.0}, "lost": {"a": 0.0, "b": 0.0},
    "running_share": {"a": 1.0, "b": 1.0},
    "aborts": {"a": 10000.0, "b": 1000.0, "difference": -9000.0},
    "commits": {"a": 20000.0, "b": 20000.0, "difference": 0.0},
    "per_commit": {"a": 0.5, "b": 0.05, "difference": -0.45},
    "cycles": {"a": 2000000.0, "b": 200000.0, "difference": -1800000.0},
    "rows": [
      {"cause": "conflict", "place": {"name": "push()", "file": "queue.cc", "line": 12}, "in": "both", "other_lines": false,
       "samples": {"a": 80.0, "b": 10.0}, "aborts": {"a": 8000.0, "b": 1000.0, "difference": -7000.0}},
      {"cause": "capacity", "place": {"name": "copy()"}, "in": "a", "other_lines": false,
       "samples": {"a": 20.0, "b": 0.0}, "aborts": {"a": 2000.0, "b": 0.0, "difference": -2000.0}}]})~"));
}

TEST(DiffTables, NumbersOfAbortsAreRowsOfCsv) {
  const std::string csv = table_csv(diff_rows(profile::diff(kBefore, kAfter)));
  EXPECT_NE(csv.find("aborts,,count,10000,1000,-9000,,\r\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("aborts,,per commit,0.5,0.05,-0.45,,\r\n"), std::string::npos);
  EXPECT_NE(csv.find("aborts,conflict at push() (queue.cc:12),count,8000,1000,-7000,-"), std::string::npos);
}

TEST(DiffTables, ChangesOfCountsHaveASign) {
  EXPECT_EQ(count_change_text(-12'345), "-12.3k");
  EXPECT_EQ(count_change_text(300), "+300");
  EXPECT_EQ(count_change_text(-0.001), "0");
}

}  // namespace
}  // namespace elision::cli::experiment
