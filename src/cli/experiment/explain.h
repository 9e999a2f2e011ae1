// SPDX-License-Identifier: Apache-2.0
// Runs cells again with a profile of their locks.
#pragma once

#include <vector>

#include "cli/experiment/observer.h"
#include "cli/experiment/remaining_time.h"
#include "cli/experiment/runner.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// The time between two looks at a run on a real CPU that is expected to take `seconds`, in milliseconds.
double look_distance_ms(double seconds);

/// Runs `cells`, which explain, as many at once as the runner allows. `remaining` knows how long the runs of
/// the comparison took. A run may take `timeout_seconds`. A run that failed has no profile. Nothing if the
/// runner was cancelled.
std::vector<Result> run_to_explain(std::vector<Cell> cells, Runner& runner, Observer& observer,
                                   RemainingTime remaining, double timeout_seconds);

}  // namespace elision::cli::experiment
