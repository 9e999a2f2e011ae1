// SPDX-License-Identifier: Apache-2.0
// The one plain sentence under a table. Pure.
#pragma once

#include <vector>

#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

/// Judges finished rows (values and speedups filled in).
Verdict judge(const Plan& plan, const std::vector<Row>& rows);

}  // namespace elision::cli::experiment
