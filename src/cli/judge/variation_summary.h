// SPDX-License-Identifier: Apache-2.0
// What several variations of a machine made of one program: medians, ranges, and whether it noticed. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/experiment/range.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// One quantity over the variations in which the program ended by itself.
struct VariedQuantity {
  enum class Unit { kSeconds, kCount };
  std::string label;  // for people
  std::string name;   // for programs
  Unit unit = Unit::kCount;
  Range range;
};

/// Virtual and CPU time, commits, aborts by cause (of those that occur), what the lock library counted if
/// `plan` names a design, and the metric if there is one. Empty if no run ended. `results` keep their
/// statistics.
std::vector<VariedQuantity> varied_quantities(const Plan& plan, const std::vector<Result>& results);

/// One line that says in which variations the program printed something else or ended otherwise than in
/// variation 0; empty if in none. The metric's number does not count as printed.
std::string varied_behaviour(const Plan& plan, const std::vector<Result>& results);

}  // namespace elision::cli::experiment
