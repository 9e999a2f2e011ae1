// SPDX-License-Identifier: Apache-2.0
// CPUID and the probes behind it (Intel SDM volume 2, CPUID; volume 1, 16.3).
#include "htm/cpu.h"

#include <cpuid.h>
#include <stdlib.h>

#include <cstring>

#include "abi/lock_variables.h"
#include "abi/virtual_cpu.h"
#include "htm/rtm.h"

namespace elision::htm {
namespace {

constexpr int kCommitAttempts = 200;  // accidental aborts are rare
constexpr unsigned kDeepestNestTried = 64;

struct Registers {
  unsigned eax, ebx, ecx, edx;
};

Registers cpuid(unsigned leaf) {
  Registers r{};
  __cpuid_count(leaf, 0, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

bool is_virtual_cpu() {
  const Registers signature = cpuid(abi::kVirtualCpuLeaf);
  return signature.ebx == abi::kVirtualCpuSignatureEbx && signature.ecx == abi::kVirtualCpuSignatureEcx &&
         signature.edx == abi::kVirtualCpuSignatureEdx;
}

bool virtual_cpu_has(std::uint32_t feature) {
  if (cpuid(abi::kVirtualCpuLeaf).eax < abi::kVirtualCpuFeatureLeaf) return false;
  return (cpuid(abi::kVirtualCpuFeatureLeaf).eax & feature) != 0;
}

/// Leaf 0x15 gives the counter's rate as a ratio to a crystal. CPUs that omit the crystal count at the base
/// clock, which leaf 0x16 gives.
std::uint64_t tsc_khz_from_cpuid(unsigned highest_leaf) {
  if (highest_leaf < 0x15) return 0;
  const Registers ratio = cpuid(0x15);
  if (ratio.eax != 0 && ratio.ebx != 0 && ratio.ecx != 0) {
    return std::uint64_t{ratio.ecx} * ratio.ebx / ratio.eax / 1000;
  }
  if (highest_leaf < 0x16) return 0;
  return std::uint64_t{cpuid(0x16).eax & 0xffff} * 1000;
}

/// Tries it, because some hypervisors' CPUID promises transactions that never commit.
bool any_transaction_commits() {
  for (int attempt = 0; attempt < kCommitAttempts; ++attempt) {
    if (Rtm::begin().started()) {
      Rtm::commit();
      return true;
    }
  }
  return false;
}

bool commits_nested(unsigned depth) {
  for (int attempt = 0; attempt < kCommitAttempts; ++attempt) {
    const Status status = Rtm::begin();
    if (status.started()) {
      for (unsigned i = 1; i < depth; ++i) asm volatile("xbegin 1f\n1:" : : : "memory");
      for (unsigned i = 0; i < depth; ++i) Rtm::commit();
      return true;
    }
    if (status.cause() == abi::AbortCause::kNested) return false;
  }
  return false;
}

std::uint64_t ticks() {
  std::uint32_t low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

bool environment_hides_rtm() {
  const char* const given = secure_getenv(abi::row_of(abi::LockVariable::kHideRtm).name);
  return given != nullptr && std::strcmp(given, "1") == 0;
}

CpuFeatures detect_cpu(bool hide_rtm) {
  CpuFeatures features;
  const unsigned highest_leaf = cpuid(0).eax;
  features.tsc_khz = tsc_khz_from_cpuid(highest_leaf);
  features.virtual_cpu = is_virtual_cpu();
  if (highest_leaf < 7) return features;
  const Registers leaf7 = cpuid(7);
  if ((leaf7.ebx & kRtmBit) == 0) return features;
  features.rtm_is_hidden = hide_rtm && !features.virtual_cpu;
  if (features.rtm_is_hidden) return features;
  features.rtm_always_aborts = (leaf7.edx & kRtmAlwaysAbortBit) != 0 || !any_transaction_commits();
  features.has_rtm = !features.rtm_always_aborts;
  features.virtual_always_abort =
      features.has_rtm && features.virtual_cpu && virtual_cpu_has(abi::kFeatureAlwaysAbort);
  return features;
}

Trial try_transactions(unsigned attempts) {
  // Written before, because a page fault would abort the first transactions.
  alignas(64) volatile std::uint64_t line = 1;
  line = 0;
  Trial trial;
  for (; trial.attempts < attempts; ++trial.attempts) {
    const Status status = Rtm::begin();
    if (status.started()) {
      line = line + 1;
      Rtm::commit();
      ++trial.commits;
    } else {
      ++trial.aborts[static_cast<std::size_t>(status.cause())];
    }
  }
  return trial;
}

unsigned measure_nesting_depth() {
  unsigned depth = 1;
  while (depth < kDeepestNestTried && commits_nested(depth + 1)) ++depth;
  return depth;
}

std::uint32_t measure_pause_ticks() {
  constexpr int kRounds = 5;
  constexpr int kPauses = 16;
  std::uint64_t best = ~std::uint64_t{0};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t start = ticks();
    for (int i = 0; i < kPauses; ++i) asm volatile("pause" : : : "memory");
    const std::uint64_t spent = ticks() - start;
    if (spent < best) best = spent;
  }
  // Reading the counter takes about 24 ticks, which matter only for the short PAUSEs of old CPUs.
  constexpr std::uint64_t kReadingTicks = 24;
  const std::uint64_t pauses = best > kReadingTicks ? best - kReadingTicks : best;
  const std::uint64_t each = (pauses + kPauses / 2) / kPauses;
  return each == 0 ? 1 : static_cast<std::uint32_t>(each);
}

}  // namespace elision::htm
