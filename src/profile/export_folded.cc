// SPDX-License-Identifier: Apache-2.0
#include "profile/export_folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/printable.h"

namespace elision::profile {
namespace {

std::string line_of(const PathTable& table, const WeightedPath& path) {
  std::string line = folded_name(label_of(table.threads[path.thread]));
  for (const Place* frame : stack_of(table, path)) line += ";" + folded_name(label_of(*frame));
  if (const std::string label = kind_label(table, path); !label.empty()) line += ";" + folded_name(label);
  return line;
}

}  // namespace

std::string folded_name(const std::string& name) {
  std::string safe = printable(name);
  std::replace(safe.begin(), safe.end(), ';', ':');
  return safe;
}

std::string folded_text(const PathTable& table) {
  const double unit = style_of(table.weight).weight_of_line_unit;
  std::map<std::string, double> sums;
  for (const WeightedPath& path : table.paths) sums[line_of(table, path)] += path.weight;
  std::string text;
  for (const auto& [line, sum] : sums)
    if (const std::int64_t units = whole(sum / unit); units > 0) text += fmt::format("{} {}\n", line, units);
  return text;
}

}  // namespace elision::profile
