// SPDX-License-Identifier: Apache-2.0
// The one plain sentence under a table. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

/// Judges a block of finished rows (values and speedups filled in). `ever_locks`: the program took a lock
/// with this or another number of threads.
Verdict judge(const Plan& plan, const Block& block, bool ever_locks);

bool any_lock_seen(const Plan& plan, const Block& block);

/// The option that gives a comparison more rounds than it has had.
const char* option_for_more(const Plan& plan);

/// "1.42 times as fast as pthread [1.38 - 1.47]".
std::string gain(const Plan& plan, const Row& row);

/// Whether the runs show that this good row's design gains more than the smallest gain; with variations of
/// the machine: in the median, and something in each of them.
bool clearly_gains(const Plan& plan, const Row& row);
/// The same of a loss.
bool clearly_loses(const Plan& plan, const Row& row);

/// The designs that more rounds would help to judge, the reference design among them; empty if all is
/// settled. Without a clear winner these are the designs whose interval contains the smallest gain, and with
/// one those of which the runs do not show whether it is better by as much. If the plan names a precision,
/// these are the designs whose speedup is not known as well. Not for variations of the machine, whose number
/// is given.
std::vector<std::string> undecided(const Plan& plan, const std::vector<Row>& rows);

}  // namespace elision::cli::experiment
