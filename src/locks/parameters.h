// SPDX-License-Identifier: Apache-2.0
// The tunable parameters of lock designs. The values come from one table (abi/lock_variables.h). They are
// written once before locks are in use, and only read afterwards, also inside transactions.
#pragma once

#include <cstdint>

namespace elision::locks {

/// What an eliding thread does while the lock is held.
enum class Busy {
  kOutside,   // waits until it is free, then begins
  kInside,    // begins, and loops inside the transaction (AAHTM paper, IV-A)
  kAbort,     // begins without a look; the transaction aborts, which uses up a try (code of its authors)
  kFallBack,  // falls back to the lock (ttstle: LHPA paper, "no lemming avoidance")
};

struct Parameters {
  std::uint32_t elision_tries = 1;      // htm-N: N; hle-scm: transactions before the lock is taken
  std::uint32_t speculation_tries = 4;  // AAHTM locks: NUM_TRIES
  std::uint32_t max_distance = 4;  // ticket-aahtm: speculate at min <= distance < max (AAHTM paper, Fig. 5)
  std::uint32_t min_distance = 2;
  std::uint32_t most_warm = 1;  // tatas-pri-aahtm: MAX_SPECS, the most waiters that have speculated (Fig. 4)
  std::uint32_t pauses = 0;     // ticket-aahtm: units of back-off after an aborted speculation
  Busy busy = Busy::kOutside;
  bool busy_counts = false;      // Busy::kInside: an abort of the loop uses up a try
  bool backs_off = false;        // elision: back off after every abort, not only from the fourth conflict on
  bool abort_at_unlock = false;  // AAHTM locks: speculation ends at unlock instead of running on
  bool subscribes = false;       // ticket-aahtm: a speculation reads now_serving first
};

}  // namespace elision::locks
