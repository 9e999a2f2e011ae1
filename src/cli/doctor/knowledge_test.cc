// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/knowledge.h"

#include <gtest/gtest.h>

namespace elision::cli::doctor {
namespace {

CpuFacts intel(unsigned model, unsigned stepping) {
  CpuFacts cpu;
  cpu.vendor = "GenuineIntel";
  cpu.family = 6;
  cpu.model = model;
  cpu.stepping = stepping;
  return cpu;
}

TEST(Knowledge, Models) {
  const struct {
    unsigned model, stepping;
    bool rtm_without_taa, lost_rtm;
  } cases[] = {
      {0x55, 4, false, false},  // Skylake server
      {0x55, 7, false, false},  // Cascade Lake
      {0x55, 11, true, false},  // Cooper Lake
      {0x6a, 6, true, false},  {0x8f, 8, true, false},  {0xcf, 2, true, false},
      {0xad, 1, true, false},  {0x4f, 1, false, false},                           // Broadwell server
      {0x3c, 3, false, true},  {0x3f, 2, false, true},  {0x3f, 4, false, false},  // Haswell EX
      {0x97, 2, false, false},                                                    // Alder Lake
  };
  for (const auto& c : cases) {
    EXPECT_EQ(has_rtm_without_taa(intel(c.model, c.stepping)), c.rtm_without_taa) << std::hex << c.model;
    EXPECT_EQ(lost_rtm_to_erratum(intel(c.model, c.stepping)), c.lost_rtm) << std::hex << c.model;
  }
  CpuFacts other = intel(0x6a, 6);
  other.vendor = "AuthenticAMD";
  EXPECT_FALSE(has_rtm_without_taa(other));
  other = intel(0x6a, 6);
  other.family = 15;
  EXPECT_FALSE(has_rtm_without_taa(other));
}

TEST(Knowledge, Hypervisors) {
  CpuFacts cpu;
  for (const auto& [signature, name] : {std::pair{"KVMKVMKVM", "KVM"},
                                        {"Microsoft Hv", "Hyper-V"},
                                        {"", "unnamed"},
                                        {"NewNewNewNew", "NewNewNewNew"}}) {
    cpu.hypervisor_signature = signature;
    EXPECT_EQ(hypervisor_name(cpu), name);
    EXPECT_FALSE(is_emulated(cpu));
  }
  cpu.hypervisor_signature = "TCGTCGTCGTCG";
  EXPECT_TRUE(is_emulated(cpu));
}

TEST(Knowledge, GlibcElidesByVersion) {
  for (const auto& [version, elision] : {std::pair{"", GlibcElision::kNotGlibc},
                                         {"2.26", GlibcElision::kBuildOption},
                                         {"2.27", GlibcElision::kTunable},
                                         {"2.36", GlibcElision::kTunable},
                                         {"2.42", GlibcElision::kTunable},
                                         {"2.43", GlibcElision::kRemoved},
                                         {"3.0", GlibcElision::kRemoved}}) {
    EXPECT_EQ(glibc_elision(version), elision) << version;
  }
}

TEST(Knowledge, TunablesThatSwitchItOn) {
  for (const auto& [text, on] : {std::pair{"", false},
                                 {"glibc.elision.enable=1", true},
                                 {"glibc.elision.enable=0", false},
                                 {"glibc.elision.tries=1", false},
                                 {"glibc.elision.enable=1:glibc.elision.tries=5", true},
                                 {"glibc.elision.enable=1:glibc.elision.enable=0", false},
                                 {"glibc.elision.enable=10", false}}) {
    EXPECT_EQ(enables_glibc_elision(text), on) << text;
  }
}

}  // namespace
}  // namespace elision::cli::doctor
