// SPDX-License-Identifier: Apache-2.0
// Bits and leaves: Intel SDM volume 2, CPUID. The features are those of Haswell and Broadwell servers, except
// those that a user process cannot use or that are not translated (FSGSBASE, MPX, AVX-512). RTM is on; HLE
// and RTM_ALWAYS_ABORT are off.
#include "vm/cpu/cpuid.h"

#include <cstring>
#include <iterator>

#include "abi/virtual_cpu.h"

namespace elision::vm {
namespace {

struct Answer {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

constexpr std::uint32_t kMaxLeaf = 0x14;
constexpr std::uint32_t kMaxExtendedLeaf = 0x80000008;

// Leaf 1. SSE3 PCLMUL SSSE3 FMA CX16 SSE4.1 SSE4.2 MOVBE POPCNT AES XSAVE OSXSAVE AVX F16C RDRAND
constexpr std::uint32_t kFeaturesEcx = 1u << 0 | 1u << 1 | 1u << 9 | 1u << 12 | 1u << 13 | 1u << 19 |
                                       1u << 20 | 1u << 22 | 1u << 23 | 1u << 25 | 1u << 26 | 1u << 27 |
                                       1u << 28 | 1u << 29 | 1u << 30;
// FPU TSC MSR PAE CX8 APIC CMOV CLFSH MMX FXSR SSE SSE2 SS HTT
constexpr std::uint32_t kFeaturesEdx = 1u << 0 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 8 | 1u << 9 | 1u << 15 |
                                       1u << 19 | 1u << 23 | 1u << 24 | 1u << 25 | 1u << 26 | 1u << 27 |
                                       1u << 28;
// Leaf 7. BMI1 AVX2 BMI2 ERMS RTM RDSEED ADX
constexpr std::uint32_t kFeatures7Ebx =
    1u << 3 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 11 | 1u << 18 | 1u << 19;
// Leaf 0x80000001. LAHF LZCNT PREFETCHW; SYSCALL NX 1GB RDTSCP LM
constexpr std::uint32_t kExtendedEcx = 1u << 0 | 1u << 5 | 1u << 8;
constexpr std::uint32_t kExtendedEdx = 1u << 11 | 1u << 20 | 1u << 26 | 1u << 27 | 1u << 29;

constexpr std::uint32_t kAvxOffset = 576;
constexpr std::uint32_t kAvxBytes = 256;

std::uint32_t signature(const machine::Description& m) {
  const std::uint32_t family = m.cpuid.family, model = m.cpuid.model;
  const std::uint32_t base = family > 15 ? 15 : family;
  return ((family - base) << 20) | ((model >> 4) << 16) | (base << 8) | ((model & 15) << 4) |
         m.cpuid.stepping;
}

/// The number of CPUs in use that share the core, or the socket, of `cpu`, itself included.
std::uint32_t sharing(const machine::Topology& m, unsigned cpus, unsigned cpu, bool same_core) {
  std::uint32_t count = 0;
  for (unsigned other = 0; other < cpus; ++other)
    count += same_core ? m.core_of(other) == m.core_of(cpu) : m.socket_of(other) == m.socket_of(cpu);
  return count;
}

Answer features(const machine::Description& m, unsigned cpu) {
  const std::uint32_t in_package = 1u << (m.topology.core_bits() + m.topology.thread_bits());
  return {signature(m), (m.topology.apic_id(cpu) << 24) | (in_package << 16) | (8u << 8), kFeaturesEcx,
          kFeaturesEdx};
}

/// Leaf 4: deterministic cache parameters.
Answer cache(const machine::Description& m, std::uint32_t index) {
  struct Level {
    std::uint32_t type, level, sharing;
    const machine::CacheDescription* cache;
  };
  const std::uint32_t threads = m.topology.threads_per_core;
  const Level levels[] = {{1, 1, threads, &m.l1d},
                          {2, 1, threads, &m.l1i},
                          {3, 2, threads, &m.l2},
                          {3, 3, threads * m.topology.cores, &m.l3}};
  if (index >= std::size(levels)) return {};
  const Level& l = levels[index];
  const std::uint32_t sharing_ids = (1u << machine::Topology::bits_for(l.sharing)) - 1;
  const std::uint32_t core_ids = (1u << m.topology.core_bits()) - 1;
  return {l.type | l.level << 5 | 1u << 8 | sharing_ids << 14 | core_ids << 26,
          (l.cache->ways - 1) << 22 | 63, l.cache->sets() - 1, l.level == 3 && m.l3_inclusive ? 2u : 0u};
}

Answer topology(const machine::Topology& m, unsigned cpus, unsigned cpu, std::uint32_t level) {
  if (level == 0) return {m.thread_bits(), sharing(m, cpus, cpu, true), 0x100, m.apic_id(cpu)};
  if (level == 1)
    return {m.thread_bits() + m.core_bits(), sharing(m, cpus, cpu, false), 0x201, m.apic_id(cpu)};
  return {0, 0, level, m.apic_id(cpu)};
}

Answer extended_state(std::uint32_t subleaf) {
  if (subleaf == 0) return {kVirtualXcr0, kAvxOffset + kAvxBytes, kAvxOffset + kAvxBytes, 0};
  if (subleaf == 1) return {0x3, kAvxOffset + kAvxBytes, 0, 0};  // XSAVEOPT, XSAVEC
  if (subleaf == 2) return {kAvxBytes, kAvxOffset, 0, 0};
  return {};
}

Answer brand(const machine::Description& m, unsigned part) {
  Answer a;
  const char* text = m.cpuid.brand + 16 * part;
  std::memcpy(&a.eax, text, 4), std::memcpy(&a.ebx, text + 4, 4);
  std::memcpy(&a.ecx, text + 8, 4), std::memcpy(&a.edx, text + 12, 4);
  return a;
}

Answer answer(const machine::Description& m, unsigned cpus, unsigned cpu, std::uint32_t leaf,
              std::uint32_t subleaf) {
  switch (leaf) {
    case 0:
      return {kMaxLeaf, 0x756e6547, 0x6c65746e, 0x49656e69};  // GenuineIntel
    case 1:
      return features(m, cpu);
    case 2:
      return {0x76036301, 0x00f0b5ff, 0, 0x00c30000};
    case 4:
      return cache(m, subleaf);
    case 6:
      return {4, 0, 0, 0};  // ARAT
    case 7:
      return subleaf == 0 ? Answer{0, kFeatures7Ebx, 0, 0} : Answer{};
    case 0xb:
      return topology(m.topology, cpus, cpu, subleaf);
    case 0xd:
      return extended_state(subleaf);
    case 0x80000000:
      return {kMaxExtendedLeaf, 0, 0, 0};
    case 0x80000001:
      return {0, 0, kExtendedEcx, kExtendedEdx};
    case 0x80000002:
    case 0x80000003:
    case 0x80000004:
      return brand(m, leaf - 0x80000002);
    case 0x80000006:
      return {0, 0, (m.l2.size_kb << 16) | (6u << 12) | 64, 0};
    case 0x80000007:
      return {0, 0, 0, 1u << 8};  // invariant TSC
    case 0x80000008:
      return {46 | 48 << 8, 0, 0, 0};
    case abi::kVirtualCpuLeaf:
      return {abi::kVirtualCpuFeatureLeaf, abi::kVirtualCpuSignatureEbx, abi::kVirtualCpuSignatureEcx,
              abi::kVirtualCpuSignatureEdx};
    case abi::kVirtualCpuFeatureLeaf:
      return {abi::kFeatureAlwaysAbort, 0, 0, 0};
    default:
      return {};
  }
}

}  // namespace

void virtual_cpuid(const machine::Description& machine, unsigned cpus, unsigned cpu,
                   std::uint64_t (&gpr)[kGprCount]) {
  const Answer a = answer(machine, cpus, cpu, static_cast<std::uint32_t>(gpr[kRax]),
                          static_cast<std::uint32_t>(gpr[kRcx]));
  gpr[kRax] = a.eax;
  gpr[kRbx] = a.ebx;
  gpr[kRcx] = a.ecx;
  gpr[kRdx] = a.edx;
}

}  // namespace elision::vm
