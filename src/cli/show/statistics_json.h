// SPDX-License-Identifier: Apache-2.0
// The statistics files of `elision vm`, of one run (--stats) and over variations (--vary), and what they
// share with the report of a comparison. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/experiment/range.h"
#include "cli/experiment/sample.h"
#include "machine/variation.h"

namespace elision::cli::experiment {

nlohmann::json range_json(const Range& range);

/// What is drawn for each of a plan's variations: [{"variation", "seed", "drawn": {field: value}}]. Numbers
/// and truth values as such, words as text.
nlohmann::json variations_json(const Plan& plan);

/// The file of one run: {"version", "machine", "variation", "drawn", "processes", "totals"}.
nlohmann::json run_statistics(const std::string& machine, std::uint32_t variation,
                              const std::vector<machine::DrawnValue>& drawn,
                              const std::vector<nlohmann::json>& processes);

/// The file over variations: {"version", "machine", "variations": [what was drawn, statistics], "ranges"}.
/// `results` keep their statistics.
nlohmann::json variation_statistics(const Plan& plan, const std::vector<Result>& results);

}  // namespace elision::cli::experiment
