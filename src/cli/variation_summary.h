// SPDX-License-Identifier: Apache-2.0
// What several variations of a machine made of one program: medians, ranges, and whether it noticed. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/compare/range.h"
#include "cli/compare/sample.h"

namespace elision::cli {

/// One quantity over the variations in which the program ended by itself.
struct VariedQuantity {
  enum class Unit { kSeconds, kCount };
  std::string label;  // for people
  std::string name;   // for programs
  Unit unit = Unit::kCount;
  compare::Range range;
};

/// Virtual and CPU time, commits, aborts by cause (of those that occur), what the lock library counted if
/// `plan` names a design, and the metric if there is one. Empty if no run ended. `results` keep their
/// statistics.
std::vector<VariedQuantity> varied_quantities(const compare::Plan& plan,
                                              const std::vector<compare::Result>& results);

/// One line that says in which variations the program printed something else or ended otherwise than in
/// variation 0; empty if in none. The metric's number does not count as printed.
std::string varied_behaviour(const compare::Plan& plan, const std::vector<compare::Result>& results);

/// The table for people, with that line.
std::string render_variations(const compare::Plan& plan, const std::vector<compare::Result>& results);

/// The statistics file: {"version", "machine", "variations": [what was drawn, statistics], "ranges"}.
nlohmann::json variation_statistics(const compare::Plan& plan, const std::vector<compare::Result>& results);

}  // namespace elision::cli
