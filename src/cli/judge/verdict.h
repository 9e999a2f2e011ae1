// SPDX-License-Identifier: Apache-2.0
// The one plain sentence under a table. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

/// Judges finished rows (values and speedups filled in).
Verdict judge(const Plan& plan, const std::vector<Row>& rows);

/// The designs that more rounds would help to judge, the reference design among them; empty if all is
/// settled. Without a clear winner these are the designs whose interval contains the smallest gain, and with
/// one those of which the runs do not show whether it is better by as much. Not for variations of the
/// machine, whose number is given.
std::vector<std::string> undecided(const Plan& plan, const std::vector<Row>& rows);

}  // namespace elision::cli::experiment
