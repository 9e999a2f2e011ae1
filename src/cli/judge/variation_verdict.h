// SPDX-License-Identifier: Apache-2.0
// The sentences under a table over variations of the machine: in how many of them a result holds. Pure.
#pragma once

#include <vector>

#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

/// Judges finished rows of a plan with variations. A design other than the reference must have a result.
Verdict judge_variations(const Plan& plan, const std::vector<Row>& rows);

}  // namespace elision::cli::experiment
