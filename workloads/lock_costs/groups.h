// SPDX-License-Identifier: Apache-2.0
// The groups of measurements. Each prints its lines as it goes.
#pragma once

#include "lock_costs/functions.h"

namespace lock_costs {

struct Settings {
  int pairs;         // of rounds
  int milliseconds;  // a round with contention
};

/// Must come first: it begins with one thread alive, which glibc notices and leaves its atomics out.
void measure_uncontended(const Sides& sides, const Settings& settings);

/// One thread a CPU. False if a lock let two threads in.
bool measure_contended(const Sides& sides, const Settings& settings);

/// Eight threads a CPU. The same.
bool measure_oversubscribed(const Sides& sides, const Settings& settings);

}  // namespace lock_costs
