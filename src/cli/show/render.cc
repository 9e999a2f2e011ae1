// SPDX-License-Identifier: Apache-2.0
#include "cli/show/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "cli/show/format.h"

namespace elision::cli::experiment {
namespace {

constexpr const char* kMark = "*";

using Line = std::vector<std::string>;

std::string format_aborts(const LockCounts& locks) {
  std::vector<std::pair<std::string, std::uint64_t>> causes(locks.aborts.begin(), locks.aborts.end());
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [cause, count] : causes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, format_count(static_cast<double>(count)));
  }
  return text.empty() ? "-" : text;
}

std::string count_or_dash(std::uint64_t count) {
  return count == 0 ? "-" : format_count(static_cast<double>(count));
}

Line header(const Plan& plan) {
  const char* value = plan.uses_metric() ? "result" : plan.model ? "virtual time" : "time";
  Line line = {"", "design", value};
  if (plan.varies()) {
    line.insert(line.end(), {fmt::format("to {}", kReference), "best in"});
  } else {
    line.emplace_back("speedup");
  }
  line.insert(line.end(), {"CPU time", "commits", "fallbacks", "speculations", "longest wait"});
  if (!plan.varies()) line.emplace_back("spread");
  line.emplace_back("aborts by cause");
  return line;
}

std::string format_value(const Plan& plan, const Range& value) {
  if (plan.varies()) return plan.uses_metric() ? format_count(value) : format_seconds(value);
  return plan.uses_metric() ? format_count(value.median) : format_seconds(value.median);
}

std::string format_ratio(const Range& ratio) {
  return fmt::format("{:.2f}x [{:.2f} - {:.2f}]", ratio.median, ratio.low, ratio.high);
}

Line cells(const Plan& plan, const Row& row) {
  const LockCounts& locks = row.locks;
  Line line = {row.best ? kMark : "", row.design, format_value(plan, row.value)};
  if (plan.varies()) {
    line.push_back(row.speedup > 0 ? format_ratio(row.ratio) : "-");
    line.push_back(fmt::format("{}/{}", row.leads, plan.variations.size()));
  } else {
    line.push_back(row.speedup > 0 ? fmt::format("{:.2f}x", row.speedup) : "-");
  }
  line.insert(line.end(),
              {format_seconds(row.cpu_seconds), count_or_dash(locks.commits), count_or_dash(locks.fallbacks),
               count_or_dash(locks.speculations),
               locks.longest_wait_seconds > 0 ? format_seconds(locks.longest_wait_seconds) : "-"});
  if (!plan.varies()) line.push_back(row.runs > 1 ? fmt::format("{:.1f} %", 100 * row.value.spread()) : "-");
  line.push_back(format_aborts(locks));
  return line;
}

// The first two columns and the last are words, the others numbers.
bool is_text_column(std::size_t column, std::size_t columns) { return column < 2 || column + 1 == columns; }

std::string format_line(const Line& line, const std::vector<std::size_t>& widths) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool left = is_text_column(i, widths.size());
    text += left ? fmt::format("{:<{}}", line[i], widths[i]) : fmt::format("{:>{}}", line[i], widths[i]);
    text += i == 0 ? " " : "  ";
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string table(const Plan& plan, const std::vector<Row>& rows) {
  std::vector<Line> lines = {header(plan)};
  for (const Row& row : rows) {
    lines.push_back(row.state == RowState::kGood ? cells(plan, row)
                                                 : Line{"", row.design, printable(row.remark)});
  }
  std::vector<std::size_t> widths(lines.front().size(), 1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool remark = i > 0 && rows[i - 1].state != RowState::kGood;
    const std::size_t columns = remark ? 2 : lines[i].size();
    for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], lines[i][c].size());
  }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool remark = i > 0 && rows[i - 1].state != RowState::kGood;
    text += remark ? fmt::format("{:<{}} {:<{}}  {}\n", "", widths[0], lines[i][1], widths[1], lines[i][2])
                   : format_line(lines[i], widths);
  }
  return text;
}

bool means_something(const Block& block) {
  if (block.verdict.kind == VerdictKind::kNoLocks) return false;
  return std::any_of(block.rows.begin(), block.rows.end(),
                     [](const Row& row) { return row.state != RowState::kNotRun; });
}

std::string heading(const Plan& plan, const Block& block) {
  const std::string where = plan.model ? fmt::format("virtual {}", plan.where) : "this CPU";
  std::string text = fmt::format("{} on {}", printable(plan.program()), where);
  if (block.threads)
    text += fmt::format(", {} {}", *block.threads, *block.threads == 1 ? "thread" : "threads");
  if (plan.varies()) {
    const std::size_t count = plan.variations.size();
    return text + fmt::format(", {} {} of the machine: median [low - high], counts of the median run\n",
                              count, count == 1 ? "variation" : "variations");
  }
  return text + fmt::format(", {} {} a design\n", plan.runs, plan.runs == 1 ? "run" : "runs");
}

}  // namespace

std::string render(const Plan& plan, const std::vector<Block>& blocks) {
  std::string text;
  for (const Block& block : blocks) {
    if (!text.empty()) text += "\n";
    if (means_something(block)) text += heading(plan, block) + table(plan, block.rows);
    text += printable(block.verdict.sentence) + "\n";
  }
  return text;
}

}  // namespace elision::cli::experiment
