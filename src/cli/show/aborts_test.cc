// SPDX-License-Identifier: Apache-2.0
// What performance events tell about aborts: summed up, as text, as Markdown and as JSON.
#include <gtest/gtest.h>

#include "cli/show/abort_summary.h"
#include "cli/show/aborts_json.h"
#include "cli/show/aborts_text.h"

namespace elision::cli::experiment {
namespace {

using nlohmann::json;
using profile::AbortEvents;
using profile::Place;

constexpr Appearance kPlain{};
constexpr std::size_t kMost = 5;

const Place kPush{0x40, "push()", "queue.cc", 12};
const Place kSection{0x80, "work()", "main.cc", 30};

/// 30 aborts in push() and 10 at an address without a name.
profile::Profile with_events() {
  profile::Profile profile;
  AbortEvents& events = profile.abort_events.emplace();
  events.counted = true;
  events.aborts = 40;
  events.commits = 60;
  events.period = 2;
  events.samples = 20;
  events.sampled_aborts = 40;
  events.cycles = 1000;
  events.counted_cycles = 1100;
  events.by_cause = {{"conflict", 30}, {"interrupt", 10}};
  events.rows = {{kPush, "conflict", {kSection}, {}, 10, 20, 500},
                 {{0x77, ""}, "interrupt", {}, {}, 5, 10, 300},
                 {kPush, "conflict", {kSection}, {}, 5, 10, 200}};
  return profile;
}

AbortEvents& events_of(profile::Profile& profile) { return *profile.abort_events; }

std::string text_of_all(const profile::Profile& profile) { return aborts_text(profile, kMost, kPlain); }

TEST(AbortSummary, AddsRowsThatReadAlike) {
  profile::Profile profile = with_events();
  events_of(profile).rows[2].place.address = 0x44;
  const AbortSummary summary = summary_of(events_of(profile));
  ASSERT_EQ(summary.sources.size(), 2U);
  EXPECT_EQ(text_of(summary.sources[0].place), "push() (queue.cc:12)");
  EXPECT_EQ(text_of(*summary.sources[0].section), "work() (main.cc:30)");
  EXPECT_EQ(summary.sources[0].samples, 15);
  EXPECT_EQ(summary.sources[0].aborts, 30);
  EXPECT_EQ(summary.sources[0].share, 0.7);
  EXPECT_EQ(name_of(summary.sources[1].place), "0x77");
  EXPECT_FALSE(summary.sources[1].section);
  EXPECT_EQ(summary.sources[1].share, 0.3);
}

TEST(AbortSummary, KeepsRowsApartThatDifferInCauseLineOrSection) {
  profile::Profile profile = with_events();
  auto& rows = events_of(profile).rows;
  rows.resize(1);
  for (int i = 0; i < 3; ++i) rows.push_back(rows[0]);
  rows[1].cause = "capacity";
  rows[2].place.line = 13;
  rows[3].callers.clear();
  EXPECT_EQ(summary_of(events_of(profile)).sources.size(), 4U);
}

TEST(AbortSummary, CallsInTheTransactionAreNamed) {
  profile::Profile profile = with_events();
  AbortEvents& events = events_of(profile);
  events.with_branches = 4;
  events.whole_paths = 3;
  events.rows[0].inside = {{1, "add()", "queue.cc", 20}};
  const AbortSummary summary = summary_of(events);
  ASSERT_EQ(summary.sources.size(), 3U) << "other calls, another source";
  EXPECT_EQ(path_of(summary.sources[0]), "push() (queue.cc:12), called by add() (queue.cc:20)");
  EXPECT_EQ(path_of(summary.sources[2]), "push() (queue.cc:12)");
  EXPECT_NE(summary.trust.find("branch records, which reach back to the begin in 75 % of the samples;"),
            std::string::npos);
  EXPECT_NE(text_of_all(profile).find(
                "conflict at push() (queue.cc:12), called by add() (queue.cc:20), in sections"),
            std::string::npos);
  AbortSource deep = summary.sources[0];
  deep.inside.resize(4, deep.inside[0]);
  EXPECT_TRUE(path_of(deep).ends_with("add() (queue.cc:20), ..."));
}

TEST(AbortSummary, SectionIsTheInnermostCallOutsideOfWrappers) {
  profile::Profile profile = with_events();
  events_of(profile).rows.resize(1);
  auto& callers = events_of(profile).rows[0].callers;
  const auto section = [&] { return text_of(*summary_of(events_of(profile)).sources[0].section); };
  callers = {{1, "Mutex::lock()"}, {2, ""}, {3, "work()"}, {4, "main"}};
  EXPECT_EQ(section(), "work()");
  callers = {{1, "Mutex::lock()"}, {2, ""}};
  EXPECT_EQ(section(), "Mutex::lock()");
}

TEST(AbortSummary, WithoutCyclesSharesAreOfAborts) {
  profile::Profile profile = with_events();
  EXPECT_EQ(summary_of(events_of(profile)).shares_of, "the cycles that aborted transactions took");
  events_of(profile).cycles = 0;
  const AbortSummary summary = summary_of(events_of(profile));
  EXPECT_EQ(summary.shares_of, "the aborts");
  EXPECT_EQ(summary.sources[0].share, 0.75);
}

TEST(AbortSummary, HeadingSaysWhetherAbortsWereCounted) {
  profile::Profile profile = with_events();
  EXPECT_EQ(summary_of(events_of(profile)).heading,
            "The CPU counted 40 aborts and 60 commits; an aborted transaction took 25 cycles on average.");
  events_of(profile).counted = false;
  events_of(profile).commits = 0;
  EXPECT_EQ(summary_of(events_of(profile)).heading,
            "The samples stand for 40 aborts; an aborted transaction took 25 cycles on average.");
}

TEST(AbortSummary, TrustNamesSamplesLossesAndRunningShare) {
  profile::Profile profile = with_events();
  events_of(profile).lost = 4;
  events_of(profile).running = 0.5;
  EXPECT_EQ(
      summary_of(events_of(profile)).trust,
      "How far to trust these shares: they are from 20 samples that the CPU took at aborts, one in 2 of "
      "a thread, so each is known to 20 points or better; the CPU counted 1.10 times the cycles that the "
      "samples stand for; 4 more were lost; aborts were counted 50 % of the time, and the rest is "
      "extrapolated; a sample interrupts the program, which may abort one more transaction: at most 60 % "
      "of the aborts.");
  events_of(profile).samples = 0;
  EXPECT_EQ(summary_of(events_of(profile)).trust, "No abort was sampled.");
}

TEST(AbortsText, HasTheMostFrequentSources) {
  const std::string text = text_of_all(with_events());
  EXPECT_NE(text.find("Of the cycles that aborted transactions took:\n"
                      "  70 % conflict at push() (queue.cc:12), in sections of work() (main.cc:30)\n"
                      "  30 % interrupt at 0x77, in unknown sections\n"
                      "How far to trust these shares:"),
            std::string::npos)
      << text;
  EXPECT_EQ(aborts_text(with_events(), 1, kPlain).find("interrupt at"), std::string::npos);
}

TEST(AbortsText, MarkdownHasATable) {
  const std::string text = aborts_markdown(with_events(), kMost);
  EXPECT_NE(text.find("on average. Of the cycles that aborted transactions took:\n\n| share | cause |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| 30 % | interrupt | 0x77 | unknown |\n\nHow far"), std::string::npos) << text;
}

TEST(AbortsText, WithoutEventsSaysWhyOnlyIfTransactionsAborted) {
  profile::Profile profile;
  EXPECT_EQ(text_of_all(profile), "");
  profile.abort_events.emplace().missing = "there is no such event";
  EXPECT_EQ(text_of_all(profile), "");
  profile.locks.resize(1);
  profile.locks[0].aborts["conflict"] = 1;
  EXPECT_EQ(
      text_of_all(profile),
      "Aborts are those that the lock library counted, without the instructions at which they happened: "
      "there is no such event.\n");
}

TEST(AbortEventsJson, HasWhatTheTextSays) {
  const profile::Profile profile = with_events();
  const json events = abort_events_json(profile);
  const AbortSummary summary = summary_of(*profile.abort_events);
  EXPECT_EQ(events["heading"], summary.heading);
  EXPECT_EQ(events["shares_of"], summary.shares_of);
  EXPECT_EQ(events["trust"], summary.trust);
  EXPECT_EQ(events["sources"], json::parse(R"~([
    {"cause": "conflict", "place": {"name": "push()", "file": "queue.cc", "line": 12}, "inside": [],
     "section": {"name": "work()", "file": "main.cc", "line": 30},
     "samples": 15.0, "aborts": 30.0, "cycles": 700.0, "share": 0.7},
    {"cause": "interrupt", "place": {"name": "0x77"}, "inside": [], "section": null,
     "samples": 5.0, "aborts": 10.0, "cycles": 300.0, "share": 0.3}])~"));
  EXPECT_EQ(events["by_cause"], json({{"conflict", 30.0}, {"interrupt", 10.0}}));
  EXPECT_EQ(events["rows"].size(), 3U);
}

TEST(AbortEventsJson, NamesRowsOfManyPlaces) {
  profile::Profile profile = with_events();
  events_of(profile).rows[0].place = {};
  EXPECT_EQ(abort_events_json(profile)["rows"][0]["place"]["name"], "many places");
}

TEST(AbortEventsJson, WithoutEventsHasTheReasonOrIsNull) {
  profile::Profile profile;
  EXPECT_TRUE(abort_events_json(profile).is_null());
  profile.abort_events.emplace().missing = "there is no such event";
  EXPECT_EQ(abort_events_json(profile), json({{"missing", "there is no such event"}}));
}

}  // namespace
}  // namespace elision::cli::experiment
