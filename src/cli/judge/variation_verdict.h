// SPDX-License-Identifier: Apache-2.0
// The sentences under a table over variations of the machine: what holds in how many of them. Pure.
#pragma once

#include <vector>

#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

/// Judges finished rows of a plan with variations; there is a result under a design other than the reference.
Verdict judge_variations(const Plan& plan, const std::vector<Row>& rows);

}  // namespace elision::cli::experiment
