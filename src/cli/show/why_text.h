// SPDX-License-Identifier: Apache-2.0
// The reasons of a comparison as text for people. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/judge/analysis.h"
#include "cli/show/table.h"

namespace elision::cli::experiment {

/// A bar for each design whose time is known, a legend, the locks with most waiting, conflicts and findings.
/// Empty if nothing is known. `run`: that the times are of.
std::string why_text(const Block& block, const Appearance& appearance,
                     const std::string& run = "one more run");

/// The three locks with most waiting under the first design whose locks are known; no rows if none was waited
/// for.
Table locks_table(const Block& block);

/// The sentences, and commands unbroken, to be copied. Empty if there are none.
std::string next_steps_text(const std::vector<NextStep>& steps, const Appearance& appearance);

/// The same in Markdown; the time in a table of percentages. Begins with an empty line if it is not empty.
std::string why_markdown(const Block& block, const std::string& run = "one more run");
std::string next_steps_markdown(const std::vector<NextStep>& steps);

}  // namespace elision::cli::experiment
