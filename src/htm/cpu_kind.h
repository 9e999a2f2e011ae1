// SPDX-License-Identifier: Apache-2.0
// One line on the kind of CPU, which tests print first.
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
