// SPDX-License-Identifier: Apache-2.0
// Formats quantities for tables. Pure.
#pragma once

#include <string>

#include "cli/experiment/range.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// "12.3 ms [11.0 ms - 13.1 ms]".
std::string format_seconds(const Range& range);

/// "12.3k [9.9k - 13.1k]".
std::string format_count(const Range& range);

/// "12.3 ms": three significant digits and a suitable unit.
std::string format_seconds(double seconds);

/// "12.3k", "4.56M"; an integer below 10,000.
std::string format_count(double count);

/// "from the second thread on", "part: --start marker:1": what is timed of each run. Empty: the whole.
std::string part_text(const Plan& plan, std::optional<unsigned> threads);

}  // namespace elision::cli::experiment
