// SPDX-License-Identifier: Apache-2.0
// One program on several variations of a machine: medians, ranges, and whether its behaviour differed. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/experiment/range.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// A quantity over the variations in which the program ended by itself.
struct VariedQuantity {
  enum class Unit { kSeconds, kCount };
  std::string label;  // for people
  std::string name;   // for programs
  Unit unit = Unit::kCount;
  Range range;
};

/// Virtual and CPU time, commits, aborts by cause, the lock library's counts if `plan` names a design, and
/// the metric if there is one. Empty if no run ended. `results` need their statistics.
std::vector<VariedQuantity> varied_quantities(const Plan& plan, const std::vector<Result>& results);

/// One line on the variations in which the program printed or ended differently from variation 0; empty if
/// none did. The metric's number is not compared.
std::string varied_behaviour(const Plan& plan, const std::vector<Result>& results);

}  // namespace elision::cli::experiment
