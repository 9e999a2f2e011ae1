// SPDX-License-Identifier: Apache-2.0
// A comparison as JSON: everything that the table shows and every single run. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/compare/analysis.h"

namespace elision::cli::compare {

/// What is drawn for each of a plan's variations: [{"variation", "seed", "drawn": {field: value}}].
nlohmann::json variations_json(const Plan& plan);

nlohmann::json range_json(const Range& range);

nlohmann::json report_json(const Plan& plan, const std::vector<Result>& results,
                           const std::vector<Block>& blocks);

}  // namespace elision::cli::compare
