// SPDX-License-Identifier: Apache-2.0
// Sums of locks that count as one. Pure.
#pragma once

#include <algorithm>

#include "profile/profile.h"

namespace elision::profile {

/// Adds the times and counts of `lock`, but not its places and what is a list of them. Lock::objects,
/// most_waits_ns and what is inside stay as they are.
inline void add_numbers(Lock& sum, const Lock& lock) {
  sum.longest_wait_ns = std::max(sum.longest_wait_ns, lock.longest_wait_ns);
  for (const auto number : {&Lock::acquisitions, &Lock::contended, &Lock::waits_ns, &Lock::holds_ns,
                            &Lock::aborted_ns, &Lock::attempts, &Lock::commits, &Lock::fallbacks,
                            &Lock::system_calls, &Lock::conflicts_apart_at_lock, &Lock::line_waits_ns})
    sum.*number += lock.*number;
  for (std::size_t i = 0; i < kStates; ++i) sum.times[i] += lock.times[i];
  sum.conflicts_seen += lock.conflicts_seen;
  for (const auto& [cause, count] : lock.aborts) sum.aborts[cause] += count;
}

}  // namespace elision::profile
