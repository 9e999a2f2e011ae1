// SPDX-License-Identifier: Apache-2.0
// Runs the cells of a plan in order, as many at once as the runner allows.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/experiment/runner.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// Gets reports on the progress, from one thread at a time.
class Observer {
 public:
  virtual ~Observer() = default;
  /// After the first run: the number of runs, and an estimate of the time for the rest.
  virtual void estimate(std::size_t runs, unsigned workers, double seconds_left) = 0;
  virtual void progress(std::size_t done, std::size_t runs, double seconds_left) = 0;
};

struct Execution {
  std::vector<Result> results;
  bool complete = true;  // false: cancelled before all cells ran
};

/// Every cell of `plan`, by number of threads, then by run, then by design. So a slow drift of the machine
/// affects all designs alike, and a stopped comparison has as many complete rounds as possible.
std::vector<Cell> cells_of(const Plan& plan);

/// Runs the plan. A run may take `timeout_seconds`; 0 means 20 times the first run, and at least a minute. A
/// design that timed out is not run again with the same number of threads. A plan that judges designs ends
/// after the first run if it took no lock that we can replace. It also skips a number of threads with which
/// the program fails under the reference design. Throws UsageError if the first run does not start or prints
/// nothing that the metric matches.
Execution execute(const Plan& plan, Runner& runner, Observer& observer, double timeout_seconds);

}  // namespace elision::cli::experiment
