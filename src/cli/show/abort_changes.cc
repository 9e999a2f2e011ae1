// SPDX-License-Identifier: Apache-2.0
#include "cli/show/abort_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/printable.h"
#include "cli/show/abort_summary.h"
#include "cli/show/aborts_json.h"
#include "cli/show/diff_words.h"
#include "cli/show/format.h"
#include "profile/analysis.h"

namespace elision::cli::experiment {
namespace {

using profile::AbortChange;
using profile::AbortDiff;
using profile::Change;
using profile::KnownAborts;
using profile::Presence;

constexpr std::size_t kMostAbortRows = 15;

bool has_any(const AbortDiff& diff) { return diff.is_known() && (diff.aborts.a > 0 || diff.aborts.b > 0); }

std::string count_bounds_text(const Change& change) {
  if (!change.bounds) return kNoValue;
  return fmt::format("{} to {}", count_change_text(change.bounds->low),
                     count_change_text(change.bounds->high));
}

std::vector<std::string> count_cells(std::string name, const Change& change) {
  return {std::move(name), format_count(change.a), format_count(change.b),
          count_change_text(change.difference())};
}

std::string ratio_text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.3g}", *ratio) : kNoValue;
}

std::vector<std::string> per_commit_cells(const AbortDiff& diff) {
  const std::optional<double>&a = diff.a.per_commit, &b = diff.b.per_commit;
  return {"aborts a commit", ratio_text(a), ratio_text(b),
          a && b ? (*a == *b ? "0" : fmt::format("{:+.3g}", *b - *a)) : kNoValue};
}

std::string row_name(const AbortChange& row) {
  return fmt::format("{} at {}{}", row.cause, text_of(row.place), row.other_lines ? ", other lines" : "");
}

std::size_t rows_shown(const AbortDiff& diff) { return std::min(diff.rows.size(), kMostAbortRows); }

bool any_is_clear(const AbortDiff& diff) {
  return std::any_of(diff.rows.begin(), diff.rows.end(),
                     [](const AbortChange& row) { return row.aborts.is_clear(); });
}

/// How a run came to its number of aborts, if not all of them were counted.
std::string not_all_counted(const char* run, const KnownAborts& known) {
  std::string text;
  if (!known.counted)
    text += fmt::format(
        " In {} not all aborts were counted; they are what its samples stand for{}.", run,
        known.lost > 0 ? fmt::format(", without {} that were lost", format_count(known.lost)) : "");
  else if (known.running < 1)
    text += fmt::format(" In {} aborts were counted {} of the time; the rest is extrapolated.", run,
                        profile::percent(known.running));
  return text;
}

nlohmann::json both_json(double a, double b) { return {{"a", a}, {"b", b}}; }

/// Null where no commit is known.
nlohmann::json per_commit_json(const AbortDiff& diff) {
  const std::optional<double>&a = diff.a.per_commit, &b = diff.b.per_commit;
  if (a && b) return change_json({*a, *b});
  return {{"a", a ? nlohmann::json(*a) : nullptr}, {"b", b ? nlohmann::json(*b) : nullptr}};
}

nlohmann::json row_json(const AbortChange& row) {
  return {{"cause", row.cause},
          {"place", place_json(row.place)},
          {"other_lines", row.other_lines},
          {"in", json_name(row.presence)},
          {"samples", both_json(row.samples_a, row.samples_b)},
          {"aborts", change_json(row.aborts)}};
}

nlohmann::json missing_json(const AbortDiff& diff) {
  nlohmann::json missing = nlohmann::json::object();
  if (!diff.a.missing.empty()) missing["a"] = diff.a.missing;
  if (!diff.b.missing.empty()) missing["b"] = diff.b.missing;
  return {{"missing", missing}};
}

}  // namespace

std::string count_change_text(double difference) {
  const double size = std::abs(difference);
  constexpr double kShownAsNothing = 0.005;  // counts have two decimals at most
  return size < kShownAsNothing ? "0" : (difference < 0 ? "-" : "+") + format_count(size);
}

Table abort_totals_table(const AbortDiff& diff) {
  Table table{{{"aborts that the CPU counted", true}, {"A"}, {"B"}, {"change"}}, {}};
  if (!has_any(diff)) return table;
  std::vector<std::string> cycles = count_cells("cycles lost", diff.cycles);
  if (diff.cycles.bounds) {
    table.columns.push_back({"95 % interval"});
    cycles.push_back(count_bounds_text(diff.cycles));
  }
  for (std::vector<std::string>& cells :
       std::vector{count_cells("aborts", diff.aborts), per_commit_cells(diff), cycles}) {
    cells.resize(table.columns.size(), kNoValue);
    table.rows.push_back({cells, "", Tone::kPlain});
  }
  return table;
}

Table abort_rows_table(const AbortDiff& diff) {
  Table table{
      {{"aborts by cause and place", true}, {"A"}, {"B"}, {"change"}, {"95 % interval"}, {"in", true}}, {}};
  if (!has_any(diff)) return table;
  for (std::size_t i = 0; i < rows_shown(diff); ++i) {
    const AbortChange& row = diff.rows[i];
    std::vector<std::string> cells = count_cells(row_name(row), row.aborts);
    if (row.presence == Presence::kOnlyB) cells[1] = kNoValue;
    if (row.presence == Presence::kOnlyA) cells[2] = kNoValue;
    cells.push_back(count_bounds_text(row.aborts));
    cells.emplace_back(word_for(row.presence));
    table.rows.push_back({std::move(cells), "", Tone::kPlain});
  }
  return table;
}

std::string abort_note(const AbortDiff& diff) {
  if (!has_any(diff)) return only_one_knows_aborts(diff);
  std::string text = fmt::format("Causes and places are from {} samples in A, {} in B.",
                                 format_count(diff.a.samples), format_count(diff.b.samples));
  if (const std::size_t left_out = diff.rows.size() - rows_shown(diff); left_out > 0)
    text += fmt::format(" {} more rows, with smaller changes, are left out.", left_out);
  if (!diff.rows.empty() && !any_is_clear(diff)) text += " No row changed beyond the uncertainty.";
  return text + not_all_counted("A", diff.a) + not_all_counted("B", diff.b);
}

std::string only_one_knows_aborts(const AbortDiff& diff) {
  if (diff.a.missing.empty() == diff.b.missing.empty()) return "";
  const bool a_knows = diff.a.missing.empty();
  return fmt::format("Only {} has aborts that the CPU counted; {} has none: {}.", a_knows ? "A" : "B",
                     a_knows ? "B" : "A", printable(a_knows ? diff.b.missing : diff.a.missing));
}

nlohmann::json abort_diff_json(const AbortDiff& diff) {
  if (!diff.is_known()) return missing_json(diff);
  nlohmann::json json = {{"counted", {{"a", diff.a.counted}, {"b", diff.b.counted}}},
                         {"samples", both_json(diff.a.samples, diff.b.samples)},
                         {"lost", both_json(diff.a.lost, diff.b.lost)},
                         {"running_share", both_json(diff.a.running, diff.b.running)},
                         {"aborts", change_json(diff.aborts)},
                         {"commits", change_json(diff.commits)},
                         {"per_commit", per_commit_json(diff)},
                         {"cycles", change_json(diff.cycles)},
                         {"rows", nlohmann::json::array()}};
  for (const AbortChange& row : diff.rows) json["rows"].push_back(row_json(row));
  return json;
}

std::vector<AbortNumber> abort_numbers(const AbortDiff& diff) {
  if (!has_any(diff)) return {};
  std::vector<AbortNumber> numbers = {
      {"", "count", diff.aborts}, {"", "commits", diff.commits}, {"", "cycles", diff.cycles}};
  if (diff.a.per_commit && diff.b.per_commit)
    numbers.push_back({"", "per commit", {*diff.a.per_commit, *diff.b.per_commit}});
  for (const AbortChange& row : diff.rows) numbers.push_back({row_name(row), "count", row.aborts});
  return numbers;
}

}  // namespace elision::cli::experiment
