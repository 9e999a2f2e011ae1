// SPDX-License-Identifier: Apache-2.0
// A comparison as text for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/compare/analysis.h"

namespace elision::cli::compare {

/// One table a block, each followed by its sentence; only the sentence where a table would mean nothing.
std::string render(const Plan& plan, const std::vector<Block>& blocks);

/// "12.3 ms [11.0 ms - 13.1 ms]".
std::string format_seconds(const Range& range);

/// "12.3k [9.9k - 13.1k]".
std::string format_count(const Range& range);

/// "12.3 ms": three significant digits and the unit that suits them.
std::string format_seconds(double seconds);

/// "12.3k", "4.56M"; whole below 10,000.
std::string format_count(double count);

}  // namespace elision::cli::compare
