// SPDX-License-Identifier: Apache-2.0
// Which part of each run `elision compare` simulates, and what it says about that.
#pragma once

#include <vector>

#include "cli/compare_request.h"
#include "cli/experiment/observer.h"
#include "cli/experiment/runner.h"

namespace elision::cli {

/// Sets the part and the rounds of the request's plan: without wishes of the user, all but what the program
/// does before it starts a second thread, or windows of that if it does not fit into the budget. Says on
/// standard error what was chosen if the user has not named it. Throws UsageError if a program cannot be
/// sampled, or if the budget is too small for one run. Returns runs of the plan that have ended already.
std::vector<experiment::Result> choose_part(CompareRequest& request, experiment::Runner& runner,
                                            experiment::Observer& observer);

}  // namespace elision::cli
