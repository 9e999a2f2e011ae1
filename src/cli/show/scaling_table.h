// SPDX-License-Identifier: Apache-2.0
// Throughput over threads as a table and as JSON. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/judge/scaling.h"
#include "cli/show/table.h"

namespace elision::cli::experiment {

/// What the numbers of the table are relative to, as a heading.
std::string scaling_heading(const Plan& plan, const Scaling& scaling);

/// A sentence for a program that more threads do not make faster under any design; else empty.
std::string scaling_remark(const Plan& plan, const Scaling& scaling);

/// A row for each design: throughput by number of threads, where it stops, and a chart of a character for
/// each number of threads. All charts have the same scale. `blocks`: Unicode's block elements may be used.
Table scaling_table(const Scaling& scaling, bool blocks);

nlohmann::json scaling_json(const Plan& plan, const Scaling& scaling);

}  // namespace elision::cli::experiment
