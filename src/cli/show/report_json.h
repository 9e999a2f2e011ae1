// SPDX-License-Identifier: Apache-2.0
// A comparison as JSON: everything that the table shows and every single run. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

/// "good", "timed-out": the state of a row in reports.
const char* name_of(RowState state);

nlohmann::json report_json(const Plan& plan, const std::vector<Result>& results,
                           const std::vector<Block>& blocks, const std::vector<NextStep>& next_steps = {});

}  // namespace elision::cli::experiment
