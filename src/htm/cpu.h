// SPDX-License-Identifier: Apache-2.0
// The features of this process's CPU. They are read from CPUID and then tried, because hypervisors and
// microcode have advertised transactions that never commit.
//
// Executes XBEGIN only after CPUID said that it exists. No other file may ask for RTM: ELISION_HIDE_RTM
// takes effect here. Allocates nothing, and calls nothing of libc but secure_getenv.
#pragma once

#include <array>
#include <cstdint>

#include "abi/counters.h"

namespace elision::htm {

/// The bits of CPUID leaf 7, subleaf 0, about transactions (Intel SDM volume 2, CPUID).
inline constexpr unsigned kHleBit = 1u << 4;                // EBX
inline constexpr unsigned kRtmBit = 1u << 11;               // EBX
inline constexpr unsigned kRtmAlwaysAbortBit = 1u << 11;    // EDX: set while microcode makes RTM abort always
inline constexpr unsigned kTsxForceAbortBit = 1u << 13;     // EDX
inline constexpr unsigned kTsxldtrkBit = 1u << 16;          // EDX
inline constexpr unsigned kArchCapabilitiesBit = 1u << 29;  // EDX

struct CpuFeatures {
  bool has_rtm = false;               // transactions commit here
  bool rtm_always_aborts = false;     // CPUID shows RTM, but every transaction aborts
  bool rtm_is_hidden = false;         // ELISION_HIDE_RTM hides RTM: the other members are as without RTM
  bool virtual_cpu = false;           // that of elision vm
  bool virtual_always_abort = false;  // its always-abort transactions
  std::uint64_t tsc_khz = 0;          // from CPUID; 0: the CPU does not say
};

/// Whether ELISION_HIDE_RTM asks to hide the CPU's RTM. Under AT_SECURE nothing asks.
bool environment_hides_rtm();

/// Asks the CPU. Takes some microseconds: call once. `hide_rtm` makes every CPU but the virtual one a CPU
/// without RTM.
CpuFeatures detect_cpu(bool hide_rtm = environment_hides_rtm());

/// How transactions of one store each ended.
struct Trial {
  unsigned attempts = 0;
  unsigned commits = 0;
  std::array<unsigned, abi::kAbortCauses> aborts{};  // by abi::AbortCause
};

/// Begins `attempts` transactions, one after the other. Needs kRtmBit.
Trial try_transactions(unsigned attempts);

/// The number of XBEGINs that fit into each other, at least 1. Needs has_rtm.
unsigned measure_nesting_depth();

/// Time-stamp counter ticks that one PAUSE takes, at least 1: 9 on Broadwell, about 140 since Skylake.
std::uint32_t measure_pause_ticks();

}  // namespace elision::htm
