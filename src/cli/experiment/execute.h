// SPDX-License-Identifier: Apache-2.0
// Runs the cells of a plan in a sensible order, as many at once as the runner allows.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/experiment/runner.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// Told what happens; called from one thread at a time.
class Observer {
 public:
  virtual ~Observer() = default;
  /// After the first run: how many runs there will be and about how long the rest will take.
  virtual void estimate(std::size_t runs, unsigned workers, double seconds_left) = 0;
  virtual void progress(std::size_t done, std::size_t runs, double seconds_left) = 0;
};

struct Execution {
  std::vector<Result> results;
  bool complete = true;  // false: cancelled before every cell had run
};

/// Every cell of `plan`: by number of threads, then by run, then by design, so that a slow drift of the
/// machine touches all designs alike and a stopped comparison has as many whole rounds as possible.
std::vector<Cell> cells_of(const Plan& plan);

/// Runs the plan. A run may take `timeout_seconds`; 0 lets the first run decide: 20 times its length, at
/// least a minute. A design that timed out is not tried again with the same number of threads. A
/// plan that judges designs ends after the first run if that took no lock we can replace, and runs nothing
/// more with a number of threads with which the program does not work under the reference design. Throws
/// UsageError if the first run does not start or prints nothing that the metric matches.
Execution execute(const Plan& plan, Runner& runner, Observer& observer, double timeout_seconds);

}  // namespace elision::cli::experiment
