// SPDX-License-Identifier: Apache-2.0
#include "cli/show/variation_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "cli/judge/variation_summary.h"
#include "cli/show/format.h"

namespace elision::cli::experiment {
namespace {

std::string shown(const VariedQuantity& quantity) {
  return quantity.unit == VariedQuantity::Unit::kSeconds ? format_seconds(quantity.range)
                                                         : format_count(quantity.range);
}

}  // namespace

std::string render_variations(const Plan& plan, const std::vector<Result>& results) {
  const auto quantities = varied_quantities(plan, results);
  std::string text = fmt::format("{} on {} {} of virtual {}: {}\n", printable(plan.program()), results.size(),
                                 results.size() == 1 ? "variation" : "variations", plan.where,
                                 quantities.empty() ? "none ended by itself" : "median [low - high]");
  std::size_t widest = 0;
  for (const VariedQuantity& quantity : quantities) widest = std::max(widest, quantity.label.size());
  for (const VariedQuantity& quantity : quantities)
    text += fmt::format("  {:<{}}  {}\n", quantity.label, widest, shown(quantity));
  const std::string behaviour = varied_behaviour(plan, results);
  return behaviour.empty() ? text : text + behaviour + "\n";
}

}  // namespace elision::cli::experiment
