// SPDX-License-Identifier: Apache-2.0
// The groups of measurements. Each prints its lines as it goes.
#pragma once

#include "lock_costs/functions.h"

namespace lock_costs {

struct Settings {
  int pairs;         // of rounds
  int milliseconds;  // per round with contention
};

/// Must come first: it begins in a process with one thread, where glibc omits atomic instructions.
void measure_uncontended(const Sides& sides, const Settings& settings);

/// One thread per CPU. False if a lock let two threads in.
bool measure_contended(const Sides& sides, const Settings& settings);

/// The same with eight threads per CPU.
bool measure_oversubscribed(const Sides& sides, const Settings& settings);

}  // namespace lock_costs
