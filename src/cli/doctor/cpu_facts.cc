// SPDX-License-Identifier: Apache-2.0
// Leaves and bits: Intel SDM volume 2, CPUID. Leaf 0x40000000 is a convention of hypervisors.
#include "cli/doctor/cpu_facts.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "abi/virtual_cpu.h"

namespace elision::cli::doctor {
namespace {

constexpr std::uint32_t kHypervisorLeaf = 0x40000000;
constexpr std::uint32_t kHypervisorBit = 1u << 31;  // leaf 1 ECX
constexpr std::uint32_t kExtendedLeaf = 0x80000000;
constexpr std::uint32_t kLastBrandLeaf = 0x80000004;

/// The text in the registers up to the first zero, without surrounding blanks.
std::string text_of(std::initializer_list<std::uint32_t> registers) {
  std::string text;
  for (const std::uint32_t value : registers) {
    for (unsigned byte = 0; byte < 4; ++byte) text += static_cast<char>(value >> (8 * byte) & 0xff);
  }
  text.resize(std::min(text.find('\0'), text.size()));  // the rest of the registers is zeros
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

void read_signature(const CpuidRegisters& leaf1, CpuFacts& facts) {
  const unsigned family = leaf1.eax >> 8 & 15, model = leaf1.eax >> 4 & 15;
  facts.family = family == 15 ? family + (leaf1.eax >> 20 & 255) : family;
  facts.model = family == 6 || family == 15 ? model | (leaf1.eax >> 16 & 15) << 4 : model;
  facts.stepping = leaf1.eax & 15;
  facts.hypervisor = (leaf1.ecx & kHypervisorBit) != 0;
}

void read_transaction_bits(const CpuidRegisters& leaf7, CpuFacts& facts) {
  facts.rtm = (leaf7.ebx & htm::kRtmBit) != 0;
  facts.hle = (leaf7.ebx & htm::kHleBit) != 0;
  facts.rtm_always_abort = (leaf7.edx & htm::kRtmAlwaysAbortBit) != 0;
  facts.tsx_force_abort = (leaf7.edx & htm::kTsxForceAbortBit) != 0;
  facts.tsxldtrk = (leaf7.edx & htm::kTsxldtrkBit) != 0;
  facts.arch_capabilities = (leaf7.edx & htm::kArchCapabilitiesBit) != 0;
}

std::string read_brand(const Cpuid& cpuid) {
  if (cpuid(kExtendedLeaf, 0).eax < kLastBrandLeaf) return {};
  const CpuidRegisters a = cpuid(kLastBrandLeaf - 2, 0), b = cpuid(kLastBrandLeaf - 1, 0),
                       c = cpuid(kLastBrandLeaf, 0);
  return text_of({a.eax, a.ebx, a.ecx, a.edx, b.eax, b.ebx, b.ecx, b.edx, c.eax, c.ebx, c.ecx, c.edx});
}

void read_virtual_cpu(const Cpuid& cpuid, CpuFacts& facts) {
  const CpuidRegisters leaf = cpuid(abi::kVirtualCpuLeaf, 0);
  facts.virtual_cpu = leaf.ebx == abi::kVirtualCpuSignatureEbx && leaf.ecx == abi::kVirtualCpuSignatureEcx &&
                      leaf.edx == abi::kVirtualCpuSignatureEdx;
  if (!facts.virtual_cpu || leaf.eax < abi::kVirtualCpuFeatureLeaf) return;
  facts.virtual_always_abort = (cpuid(abi::kVirtualCpuFeatureLeaf, 0).eax & abi::kFeatureAlwaysAbort) != 0;
}

}  // namespace

CpuidRegisters native_cpuid([[maybe_unused]] std::uint32_t leaf, [[maybe_unused]] std::uint32_t subleaf) {
  CpuidRegisters r;
#ifdef __x86_64__
  __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
#endif
  return r;
}

CpuFacts read_cpu(const Cpuid& cpuid) {
  CpuFacts facts;
  const CpuidRegisters leaf0 = cpuid(0, 0);
  facts.vendor = text_of({leaf0.ebx, leaf0.edx, leaf0.ecx});
  if (leaf0.eax >= 1) read_signature(cpuid(1, 0), facts);
  if (leaf0.eax >= 7) read_transaction_bits(cpuid(7, 0), facts);
  facts.brand = read_brand(cpuid);
  if (facts.hypervisor) {
    const CpuidRegisters leaf = cpuid(kHypervisorLeaf, 0);
    facts.hypervisor_signature = text_of({leaf.ebx, leaf.ecx, leaf.edx});
  }
  read_virtual_cpu(cpuid, facts);
  return facts;
}

}  // namespace elision::cli::doctor
