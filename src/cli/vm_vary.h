// SPDX-License-Identifier: Apache-2.0
// `elision vm --vary N`: one program on N variations of the machine, each in its own `elision vm`.
#pragma once

#include <string>

#include "cli/experiment/sample.h"

namespace elision::cli {

/// Runs the plan's only design. Prints the output of variation 0, and a table to standard error. Writes
/// `statistics_file` unless it is empty. Ends as variation 0 did.
[[noreturn]] void run_variations(const experiment::Plan& plan, const std::string& statistics_file);

}  // namespace elision::cli
