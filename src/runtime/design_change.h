// SPDX-License-Identifier: Apache-2.0
// The library's side of abi/design_change.h. Each thread writes at most once, and by a locked instruction:
// race detectors on valgrind take every other atomic access for a plain one.
#pragma once

#include "abi/design_change.h"
#include "runtime/thread_state.h"

namespace elision::runtime {

/// To be called before a wait for a condition variable in glibc.
inline void note_wait_in_glibc() {
  if (this_thread.has_noted_wait_in_glibc) return;
  this_thread.has_noted_wait_in_glibc = true;
  __atomic_exchange_n(&elision_design_change.waited_in_glibc, 1, __ATOMIC_RELAXED);
}

/// To be called when a thread gets its activity.
inline void note_activity(const abi::ThreadActivity* activity) {
  const abi::ThreadActivity* nobody = nullptr;
  __atomic_compare_exchange_n(&elision_design_change.activity, &nobody, activity, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
}

}  // namespace elision::runtime
