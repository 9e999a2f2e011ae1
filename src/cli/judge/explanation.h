// SPDX-License-Identifier: Apache-2.0
// Why the rows of a comparison are as they are: which designs to run again with a profile of their locks, and
// what those profiles mean. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/judge/analysis.h"
#include "cli/judge/why.h"

namespace elision::cli::experiment {

/// The cells that explain `blocks`: for each number of threads the reference, the best design, and the best
/// one that elides locks. None for a block whose reference has no result or takes no locks.
std::vector<Cell> cells_to_explain(const Plan& plan, const std::vector<Block>& blocks);

/// Fills in Row::why, Block::diagnosis and Block::unexplained from the results of those cells.
void explain(std::vector<Block>& blocks, const std::vector<Result>& results);

/// A run under `design` that is compared with none: one row, and what its profile means.
Block block_of_run(const profile::Profile& profile, const std::string& design);

/// A line for each of these results that explains nothing, since its run failed.
std::vector<std::string> failed_runs(const std::vector<Result>& results);

/// Why there is no diagnosis.
std::string why_none(const Unexplained& run);

/// This computer, as far as it decides what to do next.
struct ThisCpu {
  bool has_transactions = false;
  std::string why_none;  // "this CPU has no transactions", if so
};

/// What the user does next: change the source, run with a design, or measure again. Nothing without a result.
std::vector<NextStep> next_steps(const Plan& plan, const std::vector<Block>& blocks, const ThisCpu& cpu);

}  // namespace elision::cli::experiment
