// SPDX-License-Identifier: Apache-2.0
// Whether the real CPU has hardware transactions that commit.
#pragma once

#include "htm/cpu.h"

namespace elision::cli {

/// Detected once.
inline const htm::CpuFeatures& native_cpu() {
  static const htm::CpuFeatures features = htm::detect_cpu();
  return features;
}

/// True if CPUID offers RTM, nothing hides it, and a trial transaction committed.
inline bool native_htm_is_live() { return native_cpu().has_rtm; }

}  // namespace elision::cli
