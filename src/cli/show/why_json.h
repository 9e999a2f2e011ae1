// SPDX-License-Identifier: Apache-2.0
// The parts of a comparison's JSON report that say why. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/judge/analysis.h"
#include "cli/judge/why.h"

namespace elision::cli::experiment {

/// "why" of a row.
nlohmann::json why_json(const Why& why);

/// "diagnosis" of a block.
nlohmann::json diagnosis_json(const profile::Diagnosis& diagnosis);

/// "unexplained" of a block.
nlohmann::json unexplained_json(const Unexplained& run);

/// "next_steps" of the report.
nlohmann::json next_steps_json(const std::vector<NextStep>& steps);

}  // namespace elision::cli::experiment
