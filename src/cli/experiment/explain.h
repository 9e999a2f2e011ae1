// SPDX-License-Identifier: Apache-2.0
// Runs cells again with a profile of their locks.
#pragma once

#include <vector>

#include "cli/experiment/observer.h"
#include "cli/experiment/remaining_time.h"
#include "cli/experiment/runner.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// Runs `cells`, which explain, as many at once as the runner allows. `remaining` knows how long the runs of
/// the comparison took. A run may take `timeout_seconds`. On a real CPU a run is looked at every 4 ms on
/// average, and more often if so few looks would not explain it. A run that
/// failed has no profile. Nothing if the runner was cancelled.
std::vector<Result> run_to_explain(std::vector<Cell> cells, Runner& runner, Observer& observer,
                                   RemainingTime remaining, double timeout_seconds);

}  // namespace elision::cli::experiment
