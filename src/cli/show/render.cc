// SPDX-License-Identifier: Apache-2.0
#include "cli/show/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "cli/host/text_layout.h"
#include "cli/show/comparison_table.h"

namespace elision::cli::experiment {
namespace {

bool means_something(const Block& block) {
  if (block.verdict.kind == VerdictKind::kNoLocks) return false;
  return std::any_of(block.rows.begin(), block.rows.end(),
                     [](const Row& row) { return row.state != RowState::kNotRun; });
}

std::string heading(const Plan& plan, const Block& block) {
  const std::string where = plan.model ? fmt::format("virtual {}", plan.where) : "this CPU";
  std::string text = fmt::format("{} on {}", plan.program(), where);
  if (block.threads)
    text += fmt::format(", {} {}", *block.threads, *block.threads == 1 ? "thread" : "threads");
  if (plan.varies()) {
    const std::size_t count = plan.variations.size();
    return text + fmt::format(", {} {} of the machine: median [low - high], counts of the median run", count,
                              count == 1 ? "variation" : "variations");
  }
  return text + fmt::format(", {} {} a design", plan.runs, plan.runs == 1 ? "run" : "runs");
}

}  // namespace

std::string render(const Plan& plan, const std::vector<Block>& blocks, const Appearance& appearance) {
  const auto sentence = [&appearance](const std::string& text) {
    return paragraph("", printable(text), appearance.width);
  };
  std::string text;
  for (const Block& block : blocks) {
    if (!text.empty()) text += "\n";
    if (means_something(block))
      text += sentence(heading(plan, block)) + table_text(comparison_table(plan, block), appearance);
    text += sentence(block.verdict.sentence);
  }
  return text;
}

std::string render_markdown(const Plan& plan, const std::vector<Block>& blocks) {
  std::string text;
  for (const Block& block : blocks) {
    if (!text.empty()) text += "\n";
    if (means_something(block)) {
      text += fmt::format("### {}\n\n{}\n", markdown_escaped(heading(plan, block)),
                          table_markdown(comparison_table(plan, block)));
    }
    text += markdown_escaped(block.verdict.sentence) + "\n";
  }
  return text;
}

}  // namespace elision::cli::experiment
