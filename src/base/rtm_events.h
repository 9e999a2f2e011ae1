// SPDX-License-Identifier: Apache-2.0
// Raw codes of the events RTM_RETIRED.ABORTED and RTM_RETIRED.COMMIT, and of those of instructions that load
// and that store, MEM_UOPS_RETIRED or later MEM_INST_RETIRED (umask << 8 | event): the same from Haswell to
// Granite Rapids. Source: github.com/intel/perfmon.
#pragma once

#include <cstdint>

namespace elision {

inline constexpr std::uint64_t kRtmAborted = 0x4c9, kRtmCommit = 0x2c9;
inline constexpr std::uint64_t kAllLoads = 0x81d0, kAllStores = 0x82d0;

}  // namespace elision
