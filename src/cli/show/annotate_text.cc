// SPDX-License-Identifier: Apache-2.0
#include "cli/show/annotate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "cli/host/text_layout.h"
#include "cli/show/format.h"
#include "profile/analysis.h"
#include "profile/conflicts.h"

namespace elision::cli::experiment {
namespace {

using profile::SourceFunction;
using profile::StateTimes;

constexpr std::uint32_t kAround = 2;      // lines
constexpr std::size_t kTimeColumns = 12;  // "speculating" and a space
constexpr std::size_t kNumberColumns = 6;
constexpr std::size_t kTabColumns = 8;

std::string seconds(double ns) { return format_seconds(1e-9 * ns); }

std::vector<std::size_t> states_of(const SourceFunction& function) {
  std::vector<std::size_t> states;
  for (std::size_t state = 0; state < profile::kStates; ++state)
    if (function.ns[state] > 0) states.push_back(state);
  return states;
}

std::string heading(const SourceFunction& function) {
  std::string text = fmt::format(
      "{} in {}", function.name.empty() ? "a function without a name" : function.name, function.file);
  if (const double ns = profile::sum_ns(function.ns); ns > 0)
    text += fmt::format(": {}, of which {} its own", seconds(ns), seconds(profile::sum_ns(function.own_ns)));
  return printable(text) + "\n";
}

std::string column_headings(const std::vector<std::size_t>& states) {
  std::string text;
  for (const std::size_t state : states) text += padded_left(profile::kStateNames[state], kTimeColumns);
  return text + padded_left("line", kNumberColumns) + "\n";
}

std::string times_text(const StateTimes& times, const std::vector<std::size_t>& states) {
  std::string text;
  for (const std::size_t state : states)
    text += padded_left(times[state] > 0 ? seconds(times[state]) : "", kTimeColumns);
  return text;
}

std::string with_spaces_for_tabs(const std::string& line) {
  std::string text;
  for (const char c : line) {
    if (c == '\t')
      text.append(kTabColumns - text.size() % kTabColumns, ' ');
    else
      text += c;
  }
  return printable(text);
}

std::string side(const profile::Place& place) {
  if (place.address == 0 && place.name.empty()) return "an access that is not known";
  const std::string name = place.name.empty() ? fmt::format("{:#x}", place.address) : place.name;
  return place.file.empty() ? name : fmt::format("{} ({}:{})", name, place.file, place.line);
}

const char* kind_of(const profile::ConflictCounts& counts) {
  switch (profile::sharing_of(counts)) {
    case profile::Sharing::kSameLine:
      return ", by false sharing";
    case profile::Sharing::kPrefetch:
      return ", by prefetches";
    case profile::Sharing::kUnknown:
    case profile::Sharing::kSameData:
      break;
  }
  return "";
}

std::string conflict_text(const profile::LineConflict& found) {
  const profile::Conflict& conflict = *found.conflict;
  const std::string data = profile::data_text(conflict.data.name, conflict.data.address, conflict.places,
                                              found.lock->place.address);
  const std::string count =
      conflict.counts.count == 1 ? "once" : format_count(conflict.counts.count) + " times";
  const std::string what = found.is_victim
                               ? fmt::format("aborts {} because of {}", count, side(conflict.other))
                               : fmt::format("ends attempts {}, of {}", count, side(conflict.victim));
  return printable(
      fmt::format("{}: {} under {}{}", what, data, profile::name_of(*found.lock), kind_of(conflict.counts)));
}

/// The numbers of the lines to show.
std::set<std::uint32_t> shown_lines(const SourceFunction& function, const SourceText& source) {
  std::set<std::uint32_t> shown;
  for (const auto& [number, line] : function.lines) {
    shown.insert(number);
    for (std::uint32_t near = number - std::min(number - 1, kAround); near <= number + kAround; ++near)
      if (near <= source.lines.size()) shown.insert(near);
  }
  return shown;
}

std::string line_text(const SourceFunction& function, std::uint32_t number, const SourceText& source,
                      const std::vector<std::size_t>& states) {
  const auto known = function.lines.find(number);
  const StateTimes times = known != function.lines.end() ? known->second.ns : StateTimes{};
  const std::string code =
      number <= source.lines.size() ? with_spaces_for_tabs(source.lines[number - 1]) : "";
  std::string text = times_text(times, states) + padded_left(std::to_string(number), kNumberColumns);
  text += (code.empty() ? "" : "  " + code) + "\n";
  if (known == function.lines.end()) return text;
  const std::string margin(kTimeColumns * states.size() + kNumberColumns, ' ');
  for (const profile::LineConflict& conflict : known->second.conflicts)
    text += margin + "  ^ " + conflict_text(conflict) + "\n";
  return text;
}

}  // namespace

std::string annotated_text(const SourceFunction& function, const SourceText& source) {
  const std::vector<std::size_t> states = states_of(function);
  std::string text = heading(function);
  if (!source.missing.empty()) text += printable(source.missing) + "\n";
  text += column_headings(states);
  std::uint32_t last = 0;
  for (const std::uint32_t number : shown_lines(function, source)) {
    if (last != 0 && number != last + 1)
      text += std::string(kTimeColumns * states.size(), ' ') + padded_left("...", kNumberColumns) + "\n";
    text += line_text(function, number, source, states);
    last = number;
  }
  return text;
}

}  // namespace elision::cli::experiment
