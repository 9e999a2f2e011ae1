// SPDX-License-Identifier: Apache-2.0
#include "cli/show/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "cli/experiment/execute.h"
#include "cli/host/text_layout.h"
#include "cli/judge/scaling.h"
#include "cli/judge/verdict.h"
#include "cli/show/comparison_table.h"
#include "cli/show/format.h"
#include "cli/show/scaling_table.h"
#include "cli/show/why_text.h"

namespace elision::cli::experiment {
namespace {

bool means_something(const Block& block) {
  if (block.verdict.kind == VerdictKind::kNoLocks) return false;
  return std::any_of(block.rows.begin(), block.rows.end(),
                     [](const Row& row) { return row.state != RowState::kNotRun; });
}

// If locks do not matter, a ranking of the designs would be one of noise. It is shown if the verdict names a
// design, or if one has failed or is clearly slower.
bool shows_ranking(const Plan& plan, const Block& block) {
  if (!block.diagnosis || block.diagnosis->locks_matter) return true;
  return names_other_design(block) || std::any_of(block.rows.begin(), block.rows.end(), [&](const Row& row) {
           if (row.state == RowState::kNotRun) return false;
           return row.state != RowState::kGood || clearly_loses(plan, row);
         });
}

std::string warm_up(const Block& block) {
  if (block.cold_rounds == 0) return "";
  return block.cold_rounds == 1 ? " after a cold one" : fmt::format(" after {} cold ones", block.cold_rounds);
}

// ", 3 runs a design", or ", 3 to 10 runs a design" if some designs were run more often. Empty: none has a
// result.
std::string runs(const Plan& plan, const Block& block) {
  std::vector<unsigned> counts;
  for (const Row& row : block.rows)
    if (row.state == RowState::kGood) counts.push_back(row.runs);
  if (counts.empty()) return "";
  const auto [least_at, most_at] = std::minmax_element(counts.begin(), counts.end());
  const unsigned least = *least_at, most = *most_at;
  const std::string number = least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
  const char* const one = plan.samples() ? "window" : "run";
  return fmt::format(", {} {}{} a design{}", number, one, most == 1 ? "" : "s", warm_up(block));
}

std::string heading(const Plan& plan, const Block& block) {
  const std::string where = plan.model ? fmt::format("virtual {}", plan.where) : "this CPU";
  std::string text = fmt::format("{} on {}", plan.program(), where);
  if (block.threads) text += ", " + words_of(*block.threads);
  if (const std::string part = part_text(plan, block.threads); !part.empty()) text += ", " + part;
  if (plan.varies()) {
    const std::size_t count = plan.variations.size();
    return text + fmt::format(", {} {} of the machine: median [low - high], counts of the median run", count,
                              count == 1 ? "variation" : "variations");
  }
  return text + runs(plan, block);
}

}  // namespace

std::string render(const Plan& plan, const std::vector<Block>& blocks, const Appearance& appearance,
                   const std::vector<NextStep>& next_steps) {
  const auto sentence = [&appearance](const std::string& text) {
    return paragraph("", printable(text), appearance.width);
  };
  std::string text;
  for (const Block& block : blocks) {
    if (!text.empty()) text += "\n";
    const bool shown = means_something(block);
    if (shown) text += sentence(heading(plan, block));
    if (shown && shows_ranking(plan, block)) text += table_text(comparison_table(plan, block), appearance);
    text += sentence(block.verdict.sentence);
    text += why_text(block, appearance);
  }
  if (const auto scaling = scaling_of(plan, blocks)) {
    text += "\n" + sentence(scaling_heading(plan, *scaling)) +
            table_text(scaling_table(*scaling, appearance.blocks), appearance);
    if (const std::string remark = scaling_remark(plan, *scaling); !remark.empty()) text += sentence(remark);
  }
  const std::string steps = next_steps_text(next_steps, appearance);
  return steps.empty() ? text : text + "\n" + steps;
}

std::string render_markdown(const Plan& plan, const std::vector<Block>& blocks,
                            const std::vector<NextStep>& next_steps) {
  std::string text;
  for (const Block& block : blocks) {
    if (!text.empty()) text += "\n";
    const bool shown = means_something(block);
    if (shown) text += fmt::format("### {}\n", markdown_escaped(heading(plan, block)));
    if (shown && shows_ranking(plan, block)) text += "\n" + table_markdown(comparison_table(plan, block));
    text += (shown ? "\n" : "") + markdown_escaped(block.verdict.sentence) + "\n";
    text += why_markdown(block);
  }
  if (const auto scaling = scaling_of(plan, blocks)) {
    text += fmt::format("\n### {}\n\n{}", markdown_escaped(scaling_heading(plan, *scaling)),
                        table_markdown(scaling_table(*scaling, true)));
    if (const std::string remark = scaling_remark(plan, *scaling); !remark.empty())
      text += "\n" + markdown_escaped(remark) + "\n";
  }
  return text + next_steps_markdown(next_steps);
}

}  // namespace elision::cli::experiment
