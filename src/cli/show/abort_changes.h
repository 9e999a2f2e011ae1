// SPDX-License-Identifier: Apache-2.0
// What differs between the aborts that the CPU counted in two runs, for diff_tables.h, in every format. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/show/table.h"
#include "profile/abort_diff.h"

namespace elision::cli::experiment {

/// Aborts, aborts a commit and cycles lost. No rows if both runs had no aborts, or one does not know them.
Table abort_totals_table(const profile::AbortDiff& diff);
/// The same by cause and place, only those that changed most.
Table abort_rows_table(const profile::AbortDiff& diff);
/// How sure these tables are, and what they leave out; else only_one_knows_aborts().
std::string abort_note(const profile::AbortDiff& diff);
/// Returns which run does not know its aborts, and why, if the other one does, or else nothing.
std::string only_one_knows_aborts(const profile::AbortDiff& diff);

/// All of it. If a run does not know its aborts, only "missing".
nlohmann::json abort_diff_json(const profile::AbortDiff& diff);

/// One number of it, for tables of numbers.
struct AbortNumber {
  std::string name{};  // of cause and place; empty: of all aborts
  const char* measure = "";
  profile::Change change{};
};
std::vector<AbortNumber> abort_numbers(const profile::AbortDiff& diff);

/// "-1.20k", "+300" or "0".
std::string count_change_text(double difference);

}  // namespace elision::cli::experiment
