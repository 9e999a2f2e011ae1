// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/report_json.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "cli/doctor/facts_for_test.h"

namespace elision::cli::doctor {
namespace {

using nlohmann::json;

json report_of(const Facts& facts) { return report_json(facts, diagnose(facts)); }

TEST(ReportJson, HasVerdictFactsAndAdvice) {
  Facts facts = live_server();
  facts.perf.cycles_error = EACCES;
  facts.perf.tsx_events[1].error = ENOENT;
  const json report = report_of(facts);
  EXPECT_EQ(report["version"], 1);
  EXPECT_EQ(report["live"], true);
  EXPECT_EQ(report["reason"], "commits");
  EXPECT_EQ(report["always_abort"], "nested-rtm");
  EXPECT_EQ(report["cpu"]["model"], 106);
  EXPECT_EQ(report["cpu"]["hypervisor"], nullptr);
  EXPECT_EQ(report["trial"]["commits"], 9999);
  EXPECT_EQ(report["trial"]["aborts"]["other"], 1);
  EXPECT_EQ(report["trial"]["aborts"]["conflict"], 0);
  EXPECT_EQ(report["trial"]["nesting_depth"], 7);
  EXPECT_EQ(report["kernel"]["tsx"], "on");
  EXPECT_EQ(report["kernel"]["vulnerabilities"]["tsx_async_abort"], "Not affected");
  EXPECT_EQ(report["kernel"]["mitigations"], nullptr);
  EXPECT_EQ(report["perf"]["cycles"]["error"], "EACCES");
  EXPECT_EQ(report["perf"]["tsx_events"][0]["error"], nullptr);
  EXPECT_EQ(report["perf"]["tsx_events"][1]["error"], "ENOENT");
  EXPECT_EQ(report["glibc"]["elision"], "tunable");
  EXPECT_EQ(report["settings"]["hide_rtm"], nullptr);
  EXPECT_EQ(report["advice"][0]["name"], "perf-filter");
  EXPECT_TRUE(report["notes"].empty());
}

TEST(ReportJson, WhatIsNotKnownIsNull) {
  const json report = report_of(Facts{});
  EXPECT_EQ(report["live"], false);
  EXPECT_EQ(report["always_abort"], "none");
  for (const char* name :
       {"release", "microcode", "tsx", "rtm_flag", "built_in_tsx", "allow_tsx_force_abort"})
    EXPECT_EQ(report["kernel"][name], nullptr) << name;
  EXPECT_EQ(report["trial"]["nesting_depth"], nullptr);
  EXPECT_EQ(report["perf"]["perf_event_paranoid"], nullptr);
  EXPECT_EQ(report["glibc"]["version"], nullptr);
  EXPECT_EQ(report["glibc"]["elision"], "not-glibc");
}

}  // namespace
}  // namespace elision::cli::doctor
