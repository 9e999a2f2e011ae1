// SPDX-License-Identifier: Apache-2.0
// The report as JSON, whole: no field can go missing.
#include "cli/doctor/report_json.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "cli/doctor/facts_for_test.h"

namespace elision::cli::doctor {
namespace {

using nlohmann::json;

json report_of(const Facts& facts) { return report_json(facts, diagnose(facts)); }

/// A server about which everything is known.
Facts known_server() {
  Facts facts = live_server();
  facts.cpu.stepping = 8;
  facts.cpu.rtm_always_abort = facts.cpu.tsx_force_abort = facts.cpu.tsxldtrk = true;
  facts.cpu.hypervisor = facts.cpu.virtual_cpu = true;
  facts.cpu.hypervisor_signature = "KVMKVMKVM";
  facts.kernel.tsx_async_abort = "full";
  facts.kernel.mitigations = "auto";
  facts.kernel.built_in_tsx = "off";
  facts.kernel.others = {{"other_leak", "Vulnerable"}};
  facts.kernel.perf_may_abort_all = true;
  facts.kernel.system_vendor = "Amazon EC2";
  facts.trial.counts.aborts = {21, 22, 23, 24, 25, 26, 27};
  facts.trial.illegal_instruction = true;
  facts.perf.capable = true;
  facts.perf.cycles_error = EACCES;
  facts.perf.tsx_events = {{"tx-abort", 0}, {"tx-commit", ENOENT}};
  facts.glibc.elision_tunables = "glibc.elision.enable=1";
  facts.settings.hide_rtm = "yes";
  return facts;
}

const Diagnosis kDiagnosis = {
    .reason = Reason::kCommits,
    .live = true,
    .sentence = "a sentence",
    .notes = {{"a-note", "its text"}},
    .advice = {{"an-advice", "what to do"}},
};

TEST(ReportJson, EveryFieldIsThere) {
  EXPECT_EQ(report_json(known_server(), kDiagnosis), json::parse(R"({
    "version": 1, "live": true, "reason": "commits", "sentence": "a sentence", "always_abort": "nested-rtm",
    "cpu": {
      "vendor": "GenuineIntel", "brand": "Intel(R) Xeon(R) Platinum 8380", "family": 6, "model": 106, "stepping": 8,
      "rtm": true, "hle": true, "rtm_always_abort": true, "tsx_force_abort": true, "tsxldtrk": true,
      "arch_capabilities": true, "hypervisor": "KVM", "hypervisor_signature": "KVMKVMKVM", "virtual_cpu": true
    },
    "trial": {
      "attempts": 10000, "commits": 9999, "illegal_instruction": true, "nesting_depth": 7,
      "aborts": {"lock-busy": 21, "explicit": 22, "conflict": 23, "capacity": 24, "nested": 25, "debug": 26, "other": 27}
    },
    "kernel": {
      "release": "6.12.0", "microcode": "0xd0003e7", "command_line_known": true, "tsx": "on",
      "tsx_async_abort": "full", "mitigations": "auto", "built_in_tsx": "off", "rtm_flag": true,
      "allow_tsx_force_abort": true, "system_vendor": "Amazon EC2",
      "vulnerabilities": {"tsx_async_abort": "Not affected", "other_leak": "Vulnerable"}
    },
    "perf": {
      "perf_event_paranoid": 2, "capable": true, "cycles": {"error": "EACCES"},
      "tsx_events": [{"name": "tx-abort", "error": null}, {"name": "tx-commit", "error": "ENOENT"}]
    },
    "glibc": {"version": "2.41", "elision": "tunable", "elision_tunables": "glibc.elision.enable=1"},
    "settings": {"hide_rtm": "yes"},
    "notes": [{"name": "a-note", "text": "its text"}],
    "advice": [{"name": "an-advice", "text": "what to do"}]
  })"));
}

TEST(ReportJson, AdviceIsThatOfTheDiagnosis) {
  Facts facts = live_server();
  facts.perf.cycles_error = EACCES;
  const json report = report_of(facts);
  EXPECT_EQ(report["live"], true);
  EXPECT_EQ(report["reason"], "commits");
  EXPECT_EQ(report["always_abort"], "nested-rtm");
  EXPECT_EQ(report["advice"][0]["name"], "perf-filter");
  EXPECT_TRUE(report["notes"].empty());
}

TEST(ReportJson, UnknownFactsAreNull) {
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
