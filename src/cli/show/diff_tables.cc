// SPDX-License-Identifier: Apache-2.0
#include "cli/show/diff_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/host/text_layout.h"
#include "cli/show/abort_changes.h"
#include "cli/show/diff_words.h"
#include "cli/show/format.h"

namespace elision::cli::experiment {
namespace {

using profile::FunctionChange;
using profile::LockChange;
using profile::Presence;
using profile::ProfileDiff;
using profile::ShareChange;
using profile::StateChanges;

constexpr std::size_t kMostLocks = 10, kMostFunctions = 15;
constexpr double kShownAsZero = 0.0005;  // shares have one decimal of a percent

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// In points. What rounds to zero has no sign.
std::string change_text(double difference) {
  return std::abs(difference) < kShownAsZero ? "0.0" : fmt::format("{:+.1f}", 100 * difference);
}

std::string bounds_text(const ShareChange& change) {
  if (!change.bounds) return kNoValue;
  return fmt::format("{:+.1f} to {:+.1f}", 100 * change.bounds->low, 100 * change.bounds->high);
}

bool is_nothing(const ShareChange& change) { return change.a < kShownAsZero && change.b < kShownAsZero; }

bool has_bounds(const ProfileDiff& diff) { return diff.lost.bounds.has_value(); }

/// "A", "B", "change" and, if there are any, the ends of its interval.
void add_headings(Table& table, bool with_bounds) {
  for (const char* const heading : {"A", "B", "change"}) table.columns.push_back({heading});
  if (with_bounds) table.columns.push_back({"95 % interval"});
}

void add_cells(std::vector<std::string>& cells, const ShareChange& change, bool with_bounds) {
  cells.insert(cells.end(), {share_text(change.a), share_text(change.b), change_text(change.difference())});
  if (with_bounds) cells.push_back(bounds_text(change));
}

void add_row(Table& table, std::vector<std::string> cells) {
  table.rows.push_back({std::move(cells), "", Tone::kPlain});
}

Table states_table(const ProfileDiff& diff) {
  Table table{{{"time of the threads", true}}, {}};
  add_headings(table, has_bounds(diff));
  const auto add = [&](const char* name, const ShareChange& change) {
    std::vector<std::string> cells = {name};
    add_cells(cells, change, has_bounds(diff));
    add_row(table, std::move(cells));
  };
  for (std::size_t i = 0; i < profile::kStates; ++i)
    if (!is_nothing(diff.states[i])) add(profile::kStateWords[i], diff.states[i]);
  if (!table.rows.empty()) add("lost at locks", diff.lost);
  return table;
}

/// Its time lost, and what that is.
Table locks_table_of(const ProfileDiff& diff) {
  Table table{{{"time lost at a lock", true}}, {}};
  add_headings(table, has_bounds(diff));
  for (const char* const heading : {"waiting", "aborted", "overhead"}) table.columns.push_back({heading});
  table.columns.push_back({"in", true});
  for (const LockChange& lock : diff.locks) {
    if (table.rows.size() == kMostLocks) break;
    if (std::abs(lock.lost.difference()) < kShownAsZero && lock.presence == Presence::kBoth) continue;
    std::vector<std::string> cells = {lock.name};
    add_cells(cells, lock.lost, has_bounds(diff));
    if (lock.presence == Presence::kOnlyB) cells[1] = kNoValue;
    if (lock.presence == Presence::kOnlyA) cells[2] = kNoValue;
    for (const ShareChange* const part : {&lock.waiting, &lock.aborted, &lock.overhead})
      cells.push_back(change_text(part->difference()));
    cells.emplace_back(word_for(lock.presence));
    add_row(table, std::move(cells));
  }
  return table;
}

Table ends_table(const ProfileDiff& diff) {
  Table table{{{"attempts to elide locks", true}, {"A"}, {"B"}, {"share in A"}, {"share in B"}, {"change"}},
              {}};
  for (const profile::EndChange& end : diff.ends)
    add_row(table, {end.name == profile::kCommits ? end.name : "aborts: " + end.name,
                    format_count(end.count_a), format_count(end.count_b), share_text(end.share_a),
                    share_text(end.share_b), change_text(end.share_b - end.share_a)});
  if (diff.fallbacks_a > 0 || diff.fallbacks_b > 0)
    add_row(table, {"fallbacks", format_count(diff.fallbacks_a), format_count(diff.fallbacks_b), kNoValue,
                    kNoValue, kNoValue});
  return table;
}

/// "waiting for locks +12.3": the state that changed most.
std::string main_state(const StateChanges& states) {
  const auto most =
      std::max_element(states.begin(), states.end(), [](const ShareChange& x, const ShareChange& y) {
        return std::abs(x.difference()) < std::abs(y.difference());
      });
  return fmt::format("{} {}", profile::kStateWords[most - states.begin()], change_text(most->difference()));
}

Table functions_table(const ProfileDiff& diff) {
  Table table{{{"time in a function", true},
               {"A"},
               {"B"},
               {"change"},
               {"own in A"},
               {"own in B"},
               {"change"},
               {"most of it", true}},
              {}};
  for (const FunctionChange& function : diff.functions) {
    if (table.rows.size() == kMostFunctions) break;
    if (function.most() < kShownAsZero || !(function.inclusive.is_clear() || function.exclusive.is_clear()))
      continue;
    std::vector<std::string> cells = {function.name};
    add_cells(cells, function.inclusive, false);
    add_cells(cells, function.exclusive, false);
    cells.push_back(main_state(function.inclusive_states));
    add_row(table, std::move(cells));
  }
  return table;
}

/// A table, and what to know about it. Either may be empty.
struct Section {
  Table table{};
  std::string note{};
};

std::string functions_note(const ProfileDiff& diff) {
  if (diff.functions.empty()) return "";
  return functions_table(diff).rows.empty() ? "No function changed beyond the uncertainty." : "";
}

std::vector<Section> sections_of(const ProfileDiff& diff) {
  return {{states_table(diff)},
          {locks_table_of(diff)},
          {ends_table(diff)},
          {abort_totals_table(diff.aborts)},
          {abort_rows_table(diff.aborts), abort_note(diff.aborts)},
          {functions_table(diff), functions_note(diff)}};
}

nlohmann::json states_json(const StateChanges& states) {
  nlohmann::json result = nlohmann::json::object();
  for (std::size_t i = 0; i < profile::kStates; ++i)
    if (states[i].a != 0 || states[i].b != 0) result[profile::kStateNames[i]] = change_json(states[i]);
  return result;
}

nlohmann::json lock_json(const LockChange& lock) {
  return {{"name", lock.name},
          {"in", json_name(lock.presence)},
          {"lost", change_json(lock.lost)},
          {"waiting", change_json(lock.waiting)},
          {"aborted", change_json(lock.aborted)},
          {"overhead", change_json(lock.overhead)},
          {"acquisitions", {{"a", lock.acquisitions_a}, {"b", lock.acquisitions_b}}}};
}

nlohmann::json function_json(const FunctionChange& function) {
  nlohmann::json inclusive = change_json(function.inclusive), exclusive = change_json(function.exclusive);
  inclusive["states"] = states_json(function.inclusive_states);
  exclusive["states"] = states_json(function.exclusive_states);
  return {{"name", function.name}, {"inclusive", inclusive}, {"exclusive", exclusive}};
}

/// Rows of numbers for other programs.
class Rows {
 public:
  void add(const std::string& part, const std::string& name, const std::string& measure,
           const ShareChange& change) {
    std::vector<std::string> cells = {
        part, name, measure, number(change.a), number(change.b), number(change.difference())};
    if (change.bounds) cells.insert(cells.end(), {number(change.bounds->low), number(change.bounds->high)});
    cells.resize(table_.columns.size());
    add_row(table_, std::move(cells));
  }
  void add_states(const std::string& part, const std::string& name, const std::string& before,
                  const StateChanges& states) {
    for (std::size_t i = 0; i < profile::kStates; ++i)
      if (states[i].a != 0 || states[i].b != 0) add(part, name, before + profile::kStateNames[i], states[i]);
  }
  Table take() { return std::move(table_); }

 private:
  static std::string number(double value) { return fmt::format("{}", value); }

  Table table_{
      {{"part", true}, {"name", true}, {"measure", true}, {"a"}, {"b"}, {"difference"}, {"low"}, {"high"}},
      {}};
};

}  // namespace

std::string diff_text(const ProfileDiff& diff, const Appearance& appearance) {
  std::string text;
  for (const auto& [table, note] : sections_of(diff)) {
    if (!table.rows.empty()) text += "\n" + table_text(table, appearance);
    if (!note.empty()) text += "\n" + paragraph("", note, appearance.width);
  }
  return text;
}

std::string diff_markdown(const ProfileDiff& diff) {
  std::string text;
  for (const auto& [table, note] : sections_of(diff)) {
    if (!table.rows.empty()) text += "\n" + table_markdown(table);
    if (!note.empty()) text += "\n" + markdown_escaped(note) + "\n";
  }
  return text;
}

nlohmann::json diff_json(const ProfileDiff& diff) {
  nlohmann::json json = {{"verdict", profile::verdict_of(diff)},
                         {"states", states_json(diff.states)},
                         {"lost", change_json(diff.lost)},
                         {"locks", nlohmann::json::array()},
                         {"ends", nlohmann::json::array()},
                         {"fallbacks", {{"a", diff.fallbacks_a}, {"b", diff.fallbacks_b}}},
                         {"abort_events", abort_diff_json(diff.aborts)},
                         {"functions", nlohmann::json::array()}};
  for (const LockChange& lock : diff.locks) json["locks"].push_back(lock_json(lock));
  for (const profile::EndChange& end : diff.ends)
    json["ends"].push_back({{"name", end.name},
                            {"count", {{"a", end.count_a}, {"b", end.count_b}}},
                            {"share", {{"a", end.share_a}, {"b", end.share_b}}}});
  for (const FunctionChange& function : diff.functions) json["functions"].push_back(function_json(function));
  return json;
}

Table diff_rows(const ProfileDiff& diff) {
  Rows rows;
  rows.add_states("time", "", "", diff.states);
  rows.add("time", "", "lost", diff.lost);
  for (const LockChange& lock : diff.locks) {
    rows.add("lock", lock.name, "lost", lock.lost);
    rows.add("lock", lock.name, "waiting", lock.waiting);
    rows.add("lock", lock.name, "aborted", lock.aborted);
    rows.add("lock", lock.name, "overhead", lock.overhead);
  }
  for (const profile::EndChange& end : diff.ends) {
    rows.add("attempts", end.name, "count", {end.count_a, end.count_b});
    rows.add("attempts", end.name, "share", {end.share_a, end.share_b});
  }
  rows.add("attempts", "fallbacks", "count", {diff.fallbacks_a, diff.fallbacks_b});
  for (const AbortNumber& number : abort_numbers(diff.aborts))
    rows.add("aborts", number.name, number.measure, number.change);
  for (const FunctionChange& function : diff.functions) {
    rows.add("function", function.name, "inclusive", function.inclusive);
    rows.add_states("function", function.name, "inclusive ", function.inclusive_states);
    rows.add("function", function.name, "exclusive", function.exclusive);
    rows.add_states("function", function.name, "exclusive ", function.exclusive_states);
  }
  return rows.take();
}

}  // namespace elision::cli::experiment
