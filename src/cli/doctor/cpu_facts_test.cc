// SPDX-License-Identifier: Apache-2.0
// CPUs made of tables of leaves.
#include "cli/doctor/cpu_facts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "abi/virtual_cpu.h"

namespace elision::cli::doctor {
namespace {

using Leaves = std::map<std::uint32_t, CpuidRegisters>;

/// Fails the test if a leaf is asked for that the CPU does not have. The virtual CPU's leaf may always be
/// asked.
Cpuid cpu_of(const Leaves& leaves) {
  return [leaves](std::uint32_t leaf, std::uint32_t subleaf) {
    EXPECT_EQ(subleaf, 0u);
    const auto found = leaves.find(leaf);
    if (found != leaves.end()) return found->second;
    EXPECT_TRUE(leaf == abi::kVirtualCpuLeaf || leaf == 0x80000000) << std::hex << leaf;
    return CpuidRegisters{};
  };
}

/// Leaf 0: the letters go into EBX, EDX, ECX.
CpuidRegisters vendor(std::uint32_t highest, const char (&name)[13]) {
  CpuidRegisters r{highest, 0, 0, 0};
  std::memcpy(&r.ebx, name, 4), std::memcpy(&r.edx, name + 4, 4), std::memcpy(&r.ecx, name + 8, 4);
  return r;
}

CpuidRegisters letters(std::uint32_t eax, const char (&name)[13]) {
  CpuidRegisters r{eax, 0, 0, 0};
  std::memcpy(&r.ebx, name, 4), std::memcpy(&r.ecx, name + 4, 4), std::memcpy(&r.edx, name + 8, 4);
  return r;
}

TEST(CpuFacts, NoCpuidIsNoCpu) {
  const CpuFacts facts = read_cpu(cpu_of({{0, {}}}));
  EXPECT_EQ(facts.vendor, "");
  EXPECT_FALSE(facts.rtm);
}

TEST(CpuFacts, LeavesThatDoNotExistAreNotAsked) {
  const CpuFacts facts = read_cpu(cpu_of({{0, vendor(2, "GenuineIntel")}, {1, {0x6fb, 0, 0, 0}}}));
  EXPECT_EQ(facts.vendor, "GenuineIntel");
  EXPECT_EQ(facts.family, 6u);
  EXPECT_EQ(facts.model, 15u);
  EXPECT_EQ(facts.stepping, 11u);
  EXPECT_EQ(facts.brand, "");
}

TEST(CpuFacts, SignatureIsFamilyModelStepping) {
  const struct {
    std::uint32_t eax;
    unsigned family, model, stepping;
  } cases[] = {{0xc06f2, 6, 207, 2},
               {0x406f1, 6, 79, 1},
               {0x306f2, 6, 63, 2},
               {0xa20f12, 25, 33, 2},
               {0x543, 5, 4, 3}};
  for (const auto& c : cases) {
    const CpuFacts facts = read_cpu(cpu_of({{0, vendor(1, "GenuineIntel")}, {1, {c.eax, 0, 0, 0}}}));
    EXPECT_EQ(facts.family, c.family) << std::hex << c.eax;
    EXPECT_EQ(facts.model, c.model) << std::hex << c.eax;
    EXPECT_EQ(facts.stepping, c.stepping) << std::hex << c.eax;
  }
}

TEST(CpuFacts, EachTransactionBitIsItsOwn) {
  const struct {
    CpuidRegisters leaf7;
    bool CpuFacts::*fact;
  } cases[] = {{{0, 1u << 11, 0, 0}, &CpuFacts::rtm},
               {{0, 1u << 4, 0, 0}, &CpuFacts::hle},
               {{0, 0, 0, 1u << 11}, &CpuFacts::rtm_always_abort},
               {{0, 0, 0, 1u << 13}, &CpuFacts::tsx_force_abort},
               {{0, 0, 0, 1u << 16}, &CpuFacts::tsxldtrk},
               {{0, 0, 0, 1u << 29}, &CpuFacts::arch_capabilities}};
  for (const auto& set : cases) {
    const CpuFacts facts = read_cpu(cpu_of({{0, vendor(7, "GenuineIntel")}, {1, {}}, {7, set.leaf7}}));
    for (const auto& other : cases) EXPECT_EQ(facts.*other.fact, &set == &other);
  }
}

TEST(CpuFacts, HypervisorHasAName) {
  const Leaves leaves = {{0, vendor(1, "GenuineIntel")},
                         {1, {0, 0, 1u << 31, 0}},
                         {0x40000000, letters(0x40000001, "KVMKVMKVM\0\0\0")}};
  const CpuFacts facts = read_cpu(cpu_of(leaves));
  EXPECT_TRUE(facts.hypervisor);
  EXPECT_EQ(facts.hypervisor_signature, "KVMKVMKVM");
}

TEST(CpuFacts, BrandLosesItsBlanks) {
  Leaves leaves = {{0, vendor(0, "AuthenticAMD")}, {0x80000000, {0x80000004, 0, 0, 0}}};
  char brand[48] = "   AMD EPYC 7763 64-Core Processor       ";
  for (std::uint32_t part = 0; part < 3; ++part)
    std::memcpy(&leaves[0x80000002 + part], brand + 16 * part, 16);
  const CpuFacts facts = read_cpu(cpu_of(leaves));
  EXPECT_EQ(facts.vendor, "AuthenticAMD");
  EXPECT_EQ(facts.brand, "AMD EPYC 7763 64-Core Processor");
}

TEST(CpuFacts, VirtualCpuByItsSignatureOnly) {
  const CpuidRegisters signature = {abi::kVirtualCpuFeatureLeaf, abi::kVirtualCpuSignatureEbx,
                                    abi::kVirtualCpuSignatureEcx, abi::kVirtualCpuSignatureEdx};
  Leaves leaves = {{0, {}}, {abi::kVirtualCpuLeaf, signature}, {abi::kVirtualCpuFeatureLeaf, {1, 0, 0, 0}}};
  EXPECT_TRUE(read_cpu(cpu_of(leaves)).virtual_cpu);
  EXPECT_TRUE(read_cpu(cpu_of(leaves)).virtual_always_abort);
  leaves[abi::kVirtualCpuLeaf].edx = 0;
  EXPECT_FALSE(read_cpu(cpu_of(leaves)).virtual_cpu);
  EXPECT_FALSE(read_cpu(cpu_of(leaves)).virtual_always_abort);
}

TEST(CpuFacts, HostCpuAgreesWithLibrary) {
  const CpuFacts facts = read_cpu(native_cpuid);
  const htm::CpuFeatures features = htm::detect_cpu();
  EXPECT_EQ(facts.rtm, features.has_rtm || features.rtm_always_aborts || features.rtm_is_hidden);
  EXPECT_EQ(facts.virtual_cpu, features.virtual_cpu);
}

}  // namespace
}  // namespace elision::cli::doctor
