// SPDX-License-Identifier: Apache-2.0
// How reasons look, as text and as JSON.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/host/text_layout.h"
#include "cli/judge/comparison_for_test.h"
#include "cli/show/render.h"
#include "cli/show/report_json.h"
#include "cli/show/why_for_test.h"
#include "cli/show/why_json.h"
#include "cli/show/why_text.h"

namespace elision::cli::experiment {
namespace {

constexpr const char* kDistinctJson = R"({
  "basis": "exact", "parallel_share": 0.875,
  "time": {"outside": 0.25, "section": 0.125, "attempt": 0.0625, "aborted": 0.03125, "fallback": 0.015625,
           "waiting": 0.375, "overhead": 0.0625, "speculating": 0.046875, "blocked": 0.03125},
  "lock_count": 257,
  "locks": [{
    "name": "table_lock", "kind": "symbol", "title": "the 3 locks in table_lock", "file": "table.c", "line": 12, "other_sites": [], "sections": 1000.0,
    "sections_estimated": false, "contended_share": 0.5,
    "wait_seconds": {"total": 0.02, "mean": 0.00004, "longest": 0.003},
    "hold_seconds": {"total": 0.01, "mean": 0.00001}, "line_wait_seconds": 0.002, "attempts": 900.0, "commits": 800.0,
    "fallbacks": 200.0, "lost_seconds": 0.011, "waiting_seconds": 0.002, "aborted_seconds": 0.004, "overhead_seconds": 0.005, "aborts": {"conflict": 7},
    "conflicts": [{"address": "0x1040", "name": "hits", "count": 60.0, "sharing": "false-sharing",
                   "sites": [{"name": "lookup", "file": "table.c", "line": 31}, {"name": "insert"}]}]
  }]
})";

TEST(WhyJson, HasEveryField) { EXPECT_EQ(why_json(distinct_why()), nlohmann::json::parse(kDistinctJson)); }

Row explained(const std::string& design) {
  Row row;
  row.design = design;
  row.state = RowState::kGood;
  row.why = distinct_why();
  return row;
}

Appearance terminal(std::size_t width) {
  Appearance appearance;
  appearance.width = width;
  return appearance;
}

TEST(WhyText, BarsLocksConflictsAndFindings) {
  Block block;
  block.rows = {explained("pthread"), explained("tatas")};
  block.rows[1].why->time = {0.5, 0, 0, 0, 0, 0.5, 0, 0, 0};
  block.diagnosis = distinct_diagnosis();
  EXPECT_EQ(why_text(block, terminal(80)),
            "Threads wait 38 % of their time for locks.\n"
            "Time of the threads in one more run (exact), while two or more were alive: 88 %\n"
            "of the run under pthread.\n"
            "  pthread  .............=======+++xxfwwwwwwwwwwwwwwwwwwwwsssooobb  38 % waiting\n"
            "  tatas    ...........................wwwwwwwwwwwwwwwwwwwwwwwwwww  50 % waiting\n"
            "  . outside of locks  = holding a lock  + in transactions that committed\n"
            "  x in transactions that aborted  f in fallback  w waiting for locks\n"
            "  s speculating  o in the locks' code  b blocked\n"
            "  lock with most waiting  acquired  contended  waiting     mean  longest\n"
            "  table_lock                  1000       50 %  20.0 ms  40.0 us  3.00 ms\n"
            "  lock with most waiting  mean hold  at\n"
            "  table_lock                10.0 us  table.c:12\n"
            "Most frequent conflicts under pthread in that run:\n"
            "  - hits under table_lock: lookup (table.c:31) and insert, 60 times, by false\n"
            "    sharing\n"
            "- Sections of table_lock write one counter.\n");
}

TEST(WhyText, LocksNamedByOneCallHaveTheirAddresses) {
  Block block;
  block.rows = {explained("pthread")};
  std::vector<LockReport>& locks = block.rows[0].why->locks;
  locks[0].address = 0x1040;
  EXPECT_EQ(locks_table(block).rows[0].cells[0], "table_lock");
  locks.push_back(locks[0]);
  locks[1].address = 0x2080;
  EXPECT_EQ(locks_table(block).rows[0].cells[0], "table_lock at 0x1040");
  EXPECT_EQ(locks_table(block).rows[1].cells[0], "table_lock at 0x2080");
}

TEST(WhyText, ConflictsThatLookAlikeAreAddedAndSorted) {
  Block block;
  block.rows = {explained("htm-10")};
  std::vector<LockReport>& locks = block.rows[0].why->locks;
  const LockConflict own = locks[0].conflicts[0];
  LockConflict other = own;
  other.name = "misses";
  other.counts = {100, 0};
  locks[0].conflicts = {own};
  locks.push_back(locks[0]);
  locks[1].conflicts = {other, own};
  const std::string text = why_text(block, {});
  const std::size_t misses = text.find("  - misses under table_lock"),
                    hits = text.find("  - hits under table_lock");
  EXPECT_LT(hits, misses) << text;
  EXPECT_NE(text.find("120 times, by false sharing"), std::string::npos) << text;
  EXPECT_EQ(text.find("  - hits", hits + 1), std::string::npos) << text;
}

TEST(WhyText, ConflictsNameLocksByTheirPlacesAndDataByTheirDistance) {
  Block block;
  block.rows = {explained("htm-10")};
  LockReport& lock = block.rows[0].why->locks[0];
  lock.naming = LockNaming::kCalledFrom;
  lock.place.name = "Queue::pop()";
  lock.other_sites = {{"Queue::pop()", "q.cc", 3}, {"Queue::push()", "q.cc", 9}};
  lock.address = 0x1000;
  lock.conflicts[0].name.clear();
  const auto has = [&](const std::string& words) {
    return why_text(block, {}).find(words) != std::string::npos;
  };
  EXPECT_TRUE(
      has("- the data 64 bytes behind the lock under the lock of Queue::pop() and Queue::push(): lookup"))
      << why_text(block, {});
  lock.conflicts[0].address = 0xfc0;
  EXPECT_TRUE(has("- the data 64 bytes in front of the lock under ")) << why_text(block, {});
  lock.conflicts[0].address = 0xfbf;
  lock.other_sites.clear();
  EXPECT_TRUE(has("- 0xfbf under the lock of Queue::pop(): lookup")) << why_text(block, {});
}

TEST(WhyText, AFewConflictsAreNotListed) {
  Block block;
  block.rows = {explained("htm-10")};
  LockReport& lock = block.rows[0].why->locks[0];
  lock.conflicts[0].counts = {10, 10};
  EXPECT_NE(why_text(block, {}).find("conflicts under"), std::string::npos);
  lock.sections = 1001;
  EXPECT_EQ(why_text(block, {}).find("conflicts under"), std::string::npos);
}

TEST(WhyText, LocksThatNobodyWaitedForAreLeftOut) {
  Block block;
  block.rows = {explained("pthread")};
  std::vector<LockReport>& locks = block.rows[0].why->locks;
  locks.push_back(locks[0]);
  locks[1].wait_seconds = 0;
  EXPECT_EQ(locks_table(block).rows.size(), 1u);
  locks[0].wait_seconds = 0;
  EXPECT_EQ(locks_table(block).rows.size(), 0u);
  EXPECT_EQ(why_text(block, {}).find("lock with most waiting"), std::string::npos);
}

TEST(WhyText, UnknownNumbersAreDashes) {
  Block block;
  block.rows = {explained("pthread")};
  LockReport& lock = block.rows[0].why->locks[0];
  lock.contended_share.reset();
  lock.mean_wait_seconds.reset();
  lock.longest_wait_seconds.reset();
  const std::vector<std::string> cells = locks_table(block).rows[0].cells;
  EXPECT_EQ(cells[2], "-");
  EXPECT_EQ(cells[4], "-");
  EXPECT_EQ(cells[5], "-");
  const nlohmann::json json = why_json(*block.rows[0].why)["locks"][0];
  EXPECT_TRUE(json["contended_share"].is_null());
  EXPECT_TRUE(json["wait_seconds"]["mean"].is_null());
  EXPECT_TRUE(json["wait_seconds"]["longest"].is_null());
}

TEST(WhyText, EveryLineFits) {
  Block block;
  block.rows = {explained("pthread")};
  block.rows[0].why->locks[0].place.name = std::string(150, 'x');
  block.rows[0].why->locks[0].conflicts.clear();
  block.diagnosis = distinct_diagnosis();
  for (std::size_t width = 60; width < 130; ++width) {
    std::istringstream lines(why_text(block, terminal(width)));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(WhyText, ColoursFillTheBars) {
  Block block;
  block.rows = {explained("tatas")};
  block.rows[0].why->time = {0, 0, 0, 0, 0, 1, 0, 0, 0};
  Appearance appearance = terminal(80);
  appearance.colour = true;
  EXPECT_NE(why_text(block, appearance).find("\x1b[30;48;5;203m" + std::string(56, 'w') + "\x1b[0m"),
            std::string::npos)
      << why_text(block, appearance);
}

TEST(WhyText, LockSaysAtHowManyPlacesItIsTaken) {
  Block block;
  block.rows = {explained("pthread")};
  LockReport& lock = block.rows[0].why->locks[0];
  const auto at = [&] { return locks_table(block).rows[0].cells.back(); };
  lock.other_sites = {{"get", "table.c", 40}};
  EXPECT_EQ(at(), "table.c:12 and another");
  lock.other_sites.push_back({"put", "table.c", 50});
  EXPECT_EQ(at(), "table.c:12 and 2 others");
  EXPECT_EQ(why_json(*block.rows[0].why)["locks"][0]["other_sites"][1]["line"], 50);
  lock.place.file.clear();
  EXPECT_EQ(at(), "3 places");
}

TEST(WhyText, ProgramWithoutLinesIsToldHowToGetThem) {
  Block block;
  block.rows = {explained("pthread"), explained("htm-10")};
  const auto tells = [&] { return why_text(block, {}).find("compile with -g") != std::string::npos; };
  EXPECT_FALSE(tells());
  block.rows[0].why->locks[0].place.file.clear();
  EXPECT_FALSE(tells()) << "lines of conflicts are known";
  for (Row& row : block.rows) row.why->locks[0].conflicts.clear();
  EXPECT_FALSE(tells()) << "one line is known";
  block.rows[1].why->locks[0].place.file.clear();
  EXPECT_TRUE(tells());
  for (Row& row : block.rows) row.why->locks.clear();
  EXPECT_FALSE(tells());
}

TEST(WhyText, ConflictsSayWhereAndOfWhatKind) {
  Block block;
  block.rows = {explained("htm-10")};
  LockConflict& conflict = block.rows[0].why->locks[0].conflicts[0];
  conflict.places = 300;
  conflict.counts = {60, 10, 40};
  EXPECT_NE(why_text(block, {}).find("hits (300 places) under table_lock: lookup (table.c:31) and insert, 60 "
                                     "times, by prefetches"),
            std::string::npos);
  EXPECT_EQ(why_json(*block.rows[0].why)["locks"][0]["conflicts"][0]["places"], 300);
  conflict.name.clear();
  conflict.counts = {60, 10, 0, 50};
  EXPECT_NE(why_text(block, {}).find("memory without a name (300 places) under table_lock: lookup "
                                     "(table.c:31) and insert, 60 times, one side not known"),
            std::string::npos);
}

TEST(WhyText, EstimatesAreMarked) {
  Block block;
  block.rows = {explained("pthread")};
  block.rows[0].why->samples = 432;
  block.rows[0].why->locks[0].sections_estimated = true;
  const std::string text = why_text(block, {});
  EXPECT_NE(text.find("(from 432 samples)"), std::string::npos) << text;
  EXPECT_NE(text.find("  ~1000  "), std::string::npos) << text;
}

TEST(WhyText, NamesFromOutsideAreEscaped) {
  Block block;
  block.rows = {explained("pthread")};
  block.rows[0].why->locks[0].place = {"a\x1b[2J", "f\n.c", 1};
  block.rows[0].why->locks[0].conflicts[0].name = "\x1b";
  block.diagnosis = profile::Diagnosis{true, 0.5, "\x1b", {{profile::Cause::kHeldLong, "", "\x1b"}}};
  EXPECT_EQ(why_text(block, {}).find('\x1b'), std::string::npos);
}

TEST_F(Comparison, NextStepsAreTheLastLines) {
  add_times("pthread", {1, 1, 1});
  add_times("tatas", {2, 2, 2});
  const std::vector<NextStep> steps = {{"Run it so:", "elision run --lock tatas -- prog 'a b'"},
                                       {"Split it.", ""}};
  const std::string text = render(plan_, {block()}, terminal(30), steps);
  const std::string end =
      "\nNext:\n  1. Run it so:\n     elision run --lock tatas -- prog 'a b'\n  2. Split it.\n";
  EXPECT_EQ(text.substr(text.size() - end.size()), end);
  const std::string page = render_markdown(plan_, {block()}, steps);
  EXPECT_NE(page.find("\n### Next\n\n1. Run it so:\n\n       elision run --lock tatas -- prog 'a b'\n"),
            std::string::npos)
      << page;
}

TEST_F(Comparison, NoRankingWhereLocksDoNotMatter) {
  add_times("pthread", {1, 1, 1});
  add_times("tatas", {1, 1, 1});
  Block shown = block();
  shown.diagnosis = profile::Diagnosis{false, 0.01, "Threads wait 1 % of their time for locks.", {}};
  const std::string sentences = shown.verdict.sentence + "\nThreads wait 1 % of their time for locks.\n";
  EXPECT_EQ(render(plan_, {shown}), "prog on virtual m, 3 runs a design\n" + sentences);
  EXPECT_EQ(render_markdown(plan_, {shown}).find("| tatas"), std::string::npos);
}

TEST_F(Comparison, FailedAndNamedDesignsAreShownWhereLocksDoNotMatter) {
  add_times("pthread", {1, 1, 1});
  add_times("tatas", {0.5, 0.5, 0.5});
  Block named = block();
  ASSERT_EQ(named.verdict.design, "tatas");
  named.diagnosis = profile::Diagnosis{false, 0.01, "Threads wait 1 % of their time for locks.", {}};
  EXPECT_NE(render(plan_, {named}).find("* tatas"), std::string::npos);
  named.verdict.design.clear();
  named.rows[1].state = RowState::kFailed;
  named.rows[1].remark = "ended with exit code 3";
  EXPECT_NE(render(plan_, {named}).find("exit code 3"), std::string::npos);
}

TEST_F(Comparison, DesignThatClearlyLosesIsShownWhereLocksDoNotMatter) {
  add_times("pthread", {1, 1, 1});
  add_times("ticket", {14, 14, 14});
  Block shown = block();
  shown.diagnosis = profile::Diagnosis{false, 0.01, "Threads wait 1 % of their time for locks.", {}};
  EXPECT_NE(render(plan_, {shown}).find("  ticket"), std::string::npos);
  EXPECT_NE(render_markdown(plan_, {shown}).find("| ticket"), std::string::npos);
  shown.rows[1].interval = Interval{0.5, 0.07, 0.95};
  EXPECT_EQ(render(plan_, {shown}).find("  ticket"), std::string::npos) << "it may be as good";
}

TEST_F(Comparison, MarkdownHasTheTimeAsATable) {
  add_times("pthread", {1, 1, 1});
  Block shown = block();
  shown.rows[0].why = distinct_why();
  const std::string page = render_markdown(plan_, {shown});
  EXPECT_NE(page.find("| pthread | 25\\.0 % | 12\\.5 % |"), std::string::npos) << page;
  EXPECT_NE(page.find("| table\\_lock | 1000 | 50 % |"), std::string::npos) << page;
  EXPECT_NE(
      page.find("- hits under table\\_lock: lookup (table.c:31) and insert, 60 times, by false sharing\n"),
      std::string::npos)
      << page;
}

TEST(WhyJson, SamplesAreCountedAndEstimatesMarked) {
  Why why = distinct_why();
  why.samples = 432;
  why.locks[0].sections_estimated = true;
  const nlohmann::json json = why_json(why);
  EXPECT_EQ(json["basis"], "sampled");
  EXPECT_EQ(json["samples"], 432);
  EXPECT_EQ(json["locks"][0]["sections_estimated"], true);
}

TEST_F(Comparison, JsonReportHasReasonsWherePresent) {
  add_times("pthread", {1, 1, 1});
  add_times("tatas", {2, 2, 2});
  Block shown = block();
  const nlohmann::json without = report_json(plan_, results_, {shown});
  EXPECT_FALSE(without.contains("next_steps"));
  EXPECT_FALSE(without["blocks"][0].contains("diagnosis"));
  EXPECT_FALSE(without["blocks"][0]["rows"][0].contains("why"));
  shown.rows[0].why = distinct_why();
  shown.diagnosis = distinct_diagnosis();
  const nlohmann::json with =
      report_json(plan_, results_, {shown}, {{"Run it so:", "elision run -- prog"}, {"Split it.", ""}});
  EXPECT_EQ(with["blocks"][0]["rows"][0]["why"], nlohmann::json::parse(kDistinctJson));
  EXPECT_EQ(with["blocks"][0]["diagnosis"], nlohmann::json::parse(R"({
    "locks_matter": true, "sentence": "Threads wait 38 % of their time for locks.",
    "findings": [{"code": "true-sharing", "lock": "table_lock",
                  "sentence": "Sections of table_lock write one counter.", "change": "Give each thread a counter."}]})"));
  EXPECT_EQ(with["next_steps"],
            nlohmann::json::parse(R"([{"sentence": "Run it so:", "command": "elision run -- prog"},
                                      {"sentence": "Split it."}])"));
}

}  // namespace
}  // namespace elision::cli::experiment
