// SPDX-License-Identifier: Apache-2.0
// How reasons look, as JSON.
#include <gtest/gtest.h>

#include "cli/judge/comparison_for_test.h"
#include "cli/show/report_json.h"
#include "cli/show/why_for_test.h"
#include "cli/show/why_json.h"

namespace elision::cli::experiment {
namespace {

constexpr const char* kDistinctJson = R"({
  "basis": "exact", "parallel_share": 0.875,
  "time": {"outside": 0.25, "section": 0.125, "attempt": 0.0625, "aborted": 0.03125, "fallback": 0.015625,
           "waiting": 0.375, "overhead": 0.0625, "speculating": 0.046875, "blocked": 0.03125},
  "locks": [{
    "name": "table_lock", "kind": "symbol", "file": "table.c", "line": 12, "acquisitions": 1000.0,
    "acquisitions_estimated": false, "contended_share": 0.5,
    "wait_seconds": {"total": 0.02, "mean": 0.00004, "longest": 0.003},
    "hold_seconds": {"total": 0.01, "mean": 0.00001}, "aborts": {"conflict": 7},
    "conflicts": [{"address": "0x1040", "name": "hits", "count": 6.0, "false_sharing": true,
                   "sites": [{"name": "lookup", "file": "table.c", "line": 31}, {"name": "insert"}]}]
  }]
})";

TEST(WhyJson, HasEveryField) { EXPECT_EQ(why_json(distinct_why()), nlohmann::json::parse(kDistinctJson)); }

TEST(WhyJson, SamplesAreCountedAndEstimatesMarked) {
  Why why = distinct_why();
  why.samples = 432;
  why.locks[0].acquisitions_estimated = true;
  const nlohmann::json json = why_json(why);
  EXPECT_EQ(json["basis"], "sampled");
  EXPECT_EQ(json["samples"], 432);
  EXPECT_EQ(json["locks"][0]["acquisitions_estimated"], true);
}

TEST(WhyJson, ListsAreShort) {
  Why why = distinct_why();
  why.locks[0].conflicts.resize(9);
  why.locks.resize(20, why.locks[0]);
  const nlohmann::json json = why_json(why);
  EXPECT_EQ(json["locks"].size(), 10u);
  EXPECT_EQ(json["locks"][0]["conflicts"].size(), 5u);
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
    "findings": [{"code": "conflict-inside", "lock": "table_lock",
                  "sentence": "Sections of table_lock write one counter."}]})"));
  EXPECT_EQ(with["next_steps"],
            nlohmann::json::parse(R"([{"sentence": "Run it so:", "command": "elision run -- prog"},
                                      {"sentence": "Split it."}])"));
}

}  // namespace
}  // namespace elision::cli::experiment
