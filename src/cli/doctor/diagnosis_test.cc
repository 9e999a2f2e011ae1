// SPDX-License-Identifier: Apache-2.0
// Every known machine gets its reason, its notes and its advice.
#include "cli/doctor/diagnosis.h"

#include <gtest/gtest.h>

#include "cli/doctor/machines_for_test.h"

namespace elision::cli::doctor {
namespace {

Names names_of(const std::vector<Remark>& remarks) {
  Names names;
  for (const Remark& remark : remarks) names.push_back(remark.name);
  return names;
}

TEST(Diagnosis, KnownMachines) {
  for (const Machine& c : kMachines) {
    SCOPED_TRACE(c.what);
    Facts facts = c.from();
    c.change(facts);
    const Diagnosis diagnosis = diagnose(facts);
    EXPECT_STREQ(name_of(diagnosis.reason), name_of(c.reason));
    EXPECT_EQ(diagnosis.live, c.live);
    EXPECT_EQ(names_of(diagnosis.notes), c.notes);
    EXPECT_EQ(names_of(diagnosis.advice), c.advice);
    EXPECT_FALSE(diagnosis.sentence.empty());
  }
}

TEST(Diagnosis, EveryReasonHasAMachine) {
  for (int reason = 0; reason <= static_cast<int>(Reason::kNoRtm); ++reason) {
    bool found = false;
    for (const Machine& c : kMachines) found = found || static_cast<int>(c.reason) == reason;
    EXPECT_TRUE(found) << name_of(static_cast<Reason>(reason));
    EXPECT_STRNE(name_of(static_cast<Reason>(reason)), "unknown");
  }
}

TEST(Diagnosis, SentencesNameTheParameterAndTheHypervisor) {
  Facts facts = dead_server();
  facts.kernel.tsx = "yes";
  EXPECT_NE(diagnose(facts).sentence.find("tsx=yes"), std::string::npos);
  facts = dead_server();
  run_on(facts, "Microsoft Hv");
  EXPECT_NE(diagnose(facts).sentence.find("Hyper-V"), std::string::npos);
  EXPECT_NE(diagnose(facts).advice.front().text.find("Hyper-V"), std::string::npos);
  facts.kernel.system_vendor = "Amazon EC2";
  EXPECT_NE(diagnose(facts).advice.front().text.find("Amazon EC2"), std::string::npos);
}

TEST(Diagnosis, RiskIsNamedWhereTsxIsOff) {
  Facts facts = dead_server();
  facts.kernel.taa = "Mitigation: TSX disabled";
  EXPECT_NE(diagnose(facts).advice.front().text.find("CVE-2019-11135"), std::string::npos);
  EXPECT_NE(diagnose(facts).advice.front().text.find("tsx=on"), std::string::npos);
}

}  // namespace
}  // namespace elision::cli::doctor
