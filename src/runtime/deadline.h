// SPDX-License-Identifier: Apache-2.0
// glibc's checks of a program's deadlines.
#pragma once

#include <ctime>

#include "locks/futex.h"

namespace elision::runtime {

using locks::Deadline;

/// The clocks that glibc accepts for waits; any other is EINVAL.
inline bool is_clock_to_wait_by(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

inline constexpr long kNanoseconds = 1000000000;  // of a second

inline bool is_valid(const timespec* at) { return at->tv_nsec >= 0 && at->tv_nsec < kNanoseconds; }

}  // namespace elision::runtime
