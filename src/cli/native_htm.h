// SPDX-License-Identifier: Apache-2.0
// Whether the real CPU has hardware transactions that commit.
#pragma once

#include "htm/cpu.h"

namespace elision::cli {

/// True if CPUID offers RTM and a transaction was seen to commit. Asks once.
inline bool native_htm_is_live() {
  static const bool live = htm::detect_cpu().has_rtm;
  return live;
}

}  // namespace elision::cli
