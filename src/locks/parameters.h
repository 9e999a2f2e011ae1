// SPDX-License-Identifier: Apache-2.0
// What may be tuned in a lock design. The values come from one table (abi/lock_variables.h); they are
// written once before locks are in use and only read afterwards, also inside transactions.
#pragma once

#include <cstdint>

namespace elision::locks {

struct Parameters {
  std::uint32_t tries;         // htm-N: N; AAHTM locks: NUM_TRIES
  std::uint32_t max_distance;  // ticket-aahtm: speculate at min <= distance < max (AAHTM paper, Fig. 5)
  std::uint32_t min_distance;
  bool busy_inside;      // htm-N: wait for a held lock inside the transaction (paper, IV-A)
  bool busy_counts;      // htm-N: an abort out of that wait uses up a try
  bool abort_at_unlock;  // AAHTM locks: speculation ends at unlock instead of running on
};

}  // namespace elision::locks
