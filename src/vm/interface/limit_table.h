// SPDX-License-Identifier: Apache-2.0
// Resource limits of a process.
#pragma once

#include <sys/resource.h>

#include <array>

namespace elision::vm {

/// Limits by number of resource (getrlimit(2)).
using LimitTable = std::array<rlimit, RLIM_NLIMITS>;
inline constexpr LimitTable kNoLimits = [] {
  LimitTable limits{};
  for (rlimit& limit : limits) limit = {RLIM_INFINITY, RLIM_INFINITY};
  return limits;
}();

/// A thread's scheduling parameters. Reported as they were set, without effect on virtual time.
struct Scheduling {
  int policy = 0;              // SCHED_OTHER or another that is not real-time
  bool resets_policy = false;  // SCHED_RESET_ON_FORK
  int nice = 0;
};

}  // namespace elision::vm
