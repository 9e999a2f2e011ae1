// SPDX-License-Identifier: Apache-2.0
// The library's side of abi/design_change.h.
#pragma once

#include "abi/design_change.h"
#include "runtime/configuration.h"

namespace elision::runtime {

/// The configuration by the settings of a change or, before one, of the process.
Configuration current_configuration();

/// To be called before a wait for a condition variable in glibc.
inline void note_wait_in_glibc() {
  __atomic_store_n(&elision_design_change.waited_in_glibc, 1, __ATOMIC_RELAXED);
}

/// To be called when a thread gets its activity.
inline void note_activity(const abi::ThreadActivity* activity) {
  if (elision_design_change.activity == nullptr) elision_design_change.activity = activity;
}

}  // namespace elision::runtime
