// SPDX-License-Identifier: Apache-2.0
// Runs the cells of a plan in order, as many at once as the runner allows, and adds rounds where they are
// needed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/experiment/observer.h"
#include "cli/experiment/remaining_time.h"
#include "cli/experiment/runner.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

struct Execution {
  std::vector<Result> results;
  bool complete = true;  // false: cancelled before all cells ran
  RemainingTime timing;  // of the runs
};

/// The designs that need more rounds with this number of threads to be judged. None: this number is decided.
using Undecided = std::function<std::vector<std::string>(const std::vector<Result>& results,
                                                         std::optional<unsigned> threads)>;

/// "1 thread", "8 threads".
std::string words_of(unsigned threads);

/// "htm-10 with 8 threads".
std::string words_of(const Cell& cell);

/// The first cells of `plan`, by number of threads, then by round. Rounds come in pairs, of which the second
/// has the order of the first backwards, so a slow drift of the machine affects all designs alike. Each pair
/// has its own order, the same in every comparison; the first round has the plan's. Results have this order,
/// too.
std::vector<Cell> cells_of(const Plan& plan);

/// The numbers of the cells that each process runs: its windows, else one cell. In the order of their first
/// cells.
std::vector<std::vector<std::size_t>> processes_of(const std::vector<Cell>& cells);

/// Runs the plan. A run may take `timeout_seconds`; 0 means 20 times the first run, and at least a minute;
/// for a window that begins later in the program, as many times longer. A design that timed out is not run
/// again with the same number of threads. A plan that judges designs skips a number of threads with which the
/// program, under the reference design, fails or takes no lock that we can replace. Throws UsageError if the
/// first run does not start or prints nothing that the metric matches.
///
/// After the first rounds, `undecided` is asked for designs that need more, and again after each pass of
/// added rounds, until the plan's most. On a virtual machine the rounds depend on nothing else. On a real CPU
/// the added rounds also end after two minutes, or after the time of the first rounds if that is longer. With
/// a budget, rounds are added on either as long as all fit into it.
/// With cells of its own, the plan runs exactly these. `tried`: runs of the plan that have ended already.
Execution execute(const Plan& plan, Runner& runner, Observer& observer, double timeout_seconds,
                  const Undecided& undecided = nullptr, std::vector<Result> tried = {});

}  // namespace elision::cli::experiment
