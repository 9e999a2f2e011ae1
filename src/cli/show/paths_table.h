// SPDX-License-Identifier: Apache-2.0
// The call paths of a profile as a table. Pure.
#pragma once

#include <cstddef>

#include "cli/show/table.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

/// The call paths with most time at locks, over all threads: what they do there, and the functions, the
/// innermost first. Shares are of the time of all call paths. No rows: no thread was seen at a lock.
Table paths_table(const profile::Profile& profile, std::size_t most_rows);

}  // namespace elision::cli::experiment
