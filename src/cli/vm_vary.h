// SPDX-License-Identifier: Apache-2.0
// `elision vm --vary N`: one program on N variations of the machine, each by an `elision vm` of its own.
#pragma once

#include <string>

#include "cli/experiment/sample.h"

namespace elision::cli {

/// Runs the plan's only design, shows what variation 0 printed and a table on standard error, writes
/// `statistics_file` if that is not empty, and ends as variation 0 did.
[[noreturn]] void run_variations(const experiment::Plan& plan, const std::string& statistics_file);

}  // namespace elision::cli
