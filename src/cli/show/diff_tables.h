// SPDX-License-Identifier: Apache-2.0
// What differs between two profiles, in every format. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/show/table.h"
#include "profile/diff.h"

namespace elision::cli::experiment {

/// The tables of times by state, locks, ends of attempts, aborts that the CPU counted and functions, each
/// only if it has rows. Of locks, causes and places of aborts, and functions only those that changed most are
/// shown.
std::string diff_text(const profile::ProfileDiff& diff, const Appearance& appearance);
std::string diff_markdown(const profile::ProfileDiff& diff);

/// All that differs: "verdict", "states", "lost", "locks", "ends", "fallbacks", "abort_events" and
/// "functions".
nlohmann::json diff_json(const profile::ProfileDiff& diff);

/// The same in one table, a number a row.
Table diff_rows(const profile::ProfileDiff& diff);

}  // namespace elision::cli::experiment
