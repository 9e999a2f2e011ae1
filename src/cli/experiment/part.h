// SPDX-License-Identifier: Apache-2.0
// Which part of the program's run a comparison on a virtual machine simulates: all with several threads, or
// short windows of that. With a budget of host time, one run of each kind tells what fits.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/experiment/observer.h"
#include "cli/experiment/preview.h"
#include "cli/experiment/runner.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// Leaves out what the program does before it starts a second thread, with any of the numbers of threads.
void leave_out_what_is_alone(Plan& plan, const std::vector<Preview>& seen);

/// Round i simulates the i-th of `count` windows of `length_ns` virtual nanoseconds. `seen`: one for each
/// number of threads.
void sample_windows(Plan& plan, const std::vector<Preview>& seen, unsigned count, std::uint64_t length_ns);

/// Fewer windows have no interval worth its name; more take longer than what they add.
inline constexpr unsigned kFewestWindows = 3, kMostWindows = 30;

struct Fit {
  unsigned windows = 0;     // of each design and number of threads; 0: whole runs
  bool fits = true;         // else even the fewest windows take longer than the budget
  double host_seconds = 0;  // of the run that this is known from: one of the reference, with the most threads
};

/// Sets the plan to whole runs if Plan::budget_seconds is enough for the first rounds of all designs, else to
/// as many windows of `length_ns` as it is enough for. Runs the reference once or twice for that, each time
/// for no longer than its share of the budget, but for the first window. `seen` is not empty.
Fit fit_into_budget(Plan& plan, const std::vector<Preview>& seen, std::uint64_t length_ns, Runner& runner,
                    Observer& observer);

}  // namespace elision::cli::experiment
