// SPDX-License-Identifier: Apache-2.0
// The tables of a comparison. Pure.
#pragma once

#include <vector>

#include "cli/judge/analysis.h"
#include "cli/show/table.h"

namespace elision::cli::experiment {

/// One block for people: rounded numbers with units, the row of the best design marked.
Table comparison_table(const Plan& plan, const Block& block);

/// All blocks for programs: a row for each design and number of threads, exact numbers in seconds and counts.
Table comparison_values(const Plan& plan, const std::vector<Block>& blocks);

}  // namespace elision::cli::experiment
