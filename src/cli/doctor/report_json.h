// SPDX-License-Identifier: Apache-2.0
// Everything as one JSON object. What is not known is null.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/doctor/diagnosis.h"

namespace elision::cli::doctor {

nlohmann::json report_json(const Facts& facts, const Diagnosis& diagnosis);

}  // namespace elision::cli::doctor
