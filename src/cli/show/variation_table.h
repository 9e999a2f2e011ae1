// SPDX-License-Identifier: Apache-2.0
// One program over several variations of the machine, as text for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// Medians and ranges, and a line that says which variations differ from variation 0, if any.
std::string render_variations(const Plan& plan, const std::vector<Result>& results);

}  // namespace elision::cli::experiment
