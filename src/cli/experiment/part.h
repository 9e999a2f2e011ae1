// SPDX-License-Identifier: Apache-2.0
// Which part of the program's run a comparison on a virtual machine simulates: all with several threads, or
// short windows of that. With a budget of real time, some runs are tried to know what fits.
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

/// That a user can ask for: fewer have no interval worth its name.
inline constexpr unsigned kFewestWindows = 3;
/// More windows take longer than what they add, unless the user asks for them.
inline constexpr unsigned kMostWindows = 30;

/// Nanoseconds of a window, unless the user or its sections want another length.
inline constexpr std::uint64_t kFirstLength = 1'000'000;

/// A look ends after so many seconds (LookLimits::enough): in a longer part, the first rounds of whole runs
/// of all designs would not fit into the budget.
double seconds_of_look(const Plan& plan, const Runner& runner);

/// What the user says about windows and runs.
struct Wishes {
  bool samples = false;                      // windows even if whole runs fit
  std::optional<std::uint64_t> length_ns{};  // of a window; nothing: as long as sections need
  double timeout_seconds = 0;                // of a run; 0: none
};

struct Fit {
  bool fits = true;             // else even the first windows take longer than the budget
  bool one_fits = true;         // else one process takes longer
  std::vector<Result> tried{};  // runs of the part chosen, which need not be repeated
};

/// Sets the part, the rounds and Plan::rounds_seconds: to whole runs if Plan::budget_seconds is enough for
/// the first rounds of all designs, else to as many windows as it is enough for, of which all designs get
/// kFirstWindows, and those that are undecided then the others. Without a budget: the most windows. Windows
/// share a process as long as every worker still gets one. `looks` has previews. Their time and that of the
/// runs that are tried are taken off the budget.
Fit fit_into_budget(Plan& plan, const Previews& looks, const Wishes& wishes, Runner& runner,
                    Observer& observer);

}  // namespace elision::cli::experiment
