// SPDX-License-Identifier: Apache-2.0
// The library's side of abi/design_change.h.
#pragma once

#include "abi/design_change.h"

namespace elision::runtime {

/// To be called before a wait for a condition variable in glibc.
inline void note_wait_in_glibc() {
  std::uint32_t& waited = elision_design_change.waited_in_glibc;
  if (__atomic_load_n(&waited, __ATOMIC_RELAXED) == 0) __atomic_store_n(&waited, 1, __ATOMIC_RELAXED);
}

/// To be called when a thread gets its activity.
inline void note_activity(const abi::ThreadActivity* activity) {
  const abi::ThreadActivity*& known = elision_design_change.activity;
  if (__atomic_load_n(&known, __ATOMIC_RELAXED) == nullptr)
    __atomic_store_n(&known, activity, __ATOMIC_RELAXED);
}

}  // namespace elision::runtime
