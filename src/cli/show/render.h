// SPDX-License-Identifier: Apache-2.0
// A comparison as text for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/host/console.h"
#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

/// One table a block, each followed by its sentence and its reasons; only the sentence where a table would
/// mean nothing. Then the scaling, and the next steps as the last lines.
std::string render(const Plan& plan, const std::vector<Block>& blocks, const Appearance& appearance = {},
                   const std::vector<NextStep>& next_steps = {});

/// The same in Markdown.
std::string render_markdown(const Plan& plan, const std::vector<Block>& blocks,
                            const std::vector<NextStep>& next_steps = {});

}  // namespace elision::cli::experiment
