// SPDX-License-Identifier: Apache-2.0
// Which part of the program's run a comparison on a virtual machine simulates: all with several threads, or
// short windows of that. With a budget of real time, one run of each kind tells what fits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/experiment/observer.h"
#include "cli/experiment/preview.h"
#include "cli/experiment/runner.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// From now on, runs of the plan simulate this part.
void simulate(Plan& plan, Part part);

/// Fewer windows have no interval worth its name; more take longer than what they add.
inline constexpr unsigned kFewestWindows = 3, kMostWindows = 30;

/// Of the windows that are chosen here, all designs get the first ones, and those that are undecided the
/// others.
inline constexpr unsigned kFirstWindows = 5;

/// Real time for one run if the first rounds of whole runs of all designs are to fit into the budget.
double seconds_a_run(const Plan& plan, const Runner& runner);

/// Detailed simulation takes at least so many times as long as fast mode (docs/measured/performance.md), so
/// that a whole run need not be tried to know that it does not fit.
inline constexpr double kSlowerThanFast = 3;

/// What the user says about windows.
struct Wishes {
  bool samples = false;                      // windows even if whole runs fit
  std::optional<std::uint64_t> length_ns{};  // of a window; nothing: as long as sections need
};

struct Fit {
  bool fits = true;               // else even the fewest windows take longer than the budget
  bool one_fits = true;           // else one run takes longer than the budget
  std::optional<Result> tried{};  // a run of the part chosen, which need not be repeated
};

/// Sets the part, the rounds and Plan::rounds_seconds: to whole runs if Plan::budget_seconds is enough for
/// the first rounds of all designs, else to as many windows as it is enough for. Without a budget: the most
/// windows. Tries runs of the reference for that, the first for no longer than its share of the budget, and
/// for windows also one of a design that elides locks, since these may be much slower. `seen`, one for each
/// number of threads, is not empty; its runs and these are taken off the budget.
Fit fit_into_budget(Plan& plan, const std::vector<Preview>& seen, const Wishes& wishes, Runner& runner,
                    Observer& observer);

}  // namespace elision::cli::experiment
