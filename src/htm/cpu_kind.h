// SPDX-License-Identifier: Apache-2.0
// The kind of CPU that matters to everything here, in one line: what tests say first.
#pragma once

#include "htm/cpu.h"

namespace elision::htm {

inline const char* kind_of(const CpuFeatures& cpu) {
  if (cpu.virtual_cpu) return "CPU: that of elision vm, transactions commit";
  if (cpu.has_rtm) return "CPU: RTM, transactions commit";
  if (cpu.rtm_is_hidden) return "CPU: RTM, hidden by ELISION_HIDE_RTM=1";
  if (cpu.rtm_always_aborts) return "CPU: RTM, no transaction commits";
  return "CPU: no RTM";
}

}  // namespace elision::htm
