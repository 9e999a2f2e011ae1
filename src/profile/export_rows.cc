// SPDX-License-Identifier: Apache-2.0
#include "profile/export_rows.h"

#include <fmt/format.h>

#include "profile/export_folded.h"

namespace elision::profile {
namespace {

using nlohmann::ordered_json;

ordered_json or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json frame_json(const Place& frame) {
  return {{"function", or_null(frame.name)},
          {"file", or_null(frame.file)},
          {"line", frame.line == 0 ? ordered_json(nullptr) : ordered_json(frame.line)},
          {"address", frame.address}};
}

ordered_json row_json(const PathTable& table, const WeightedPath& path) {
  ordered_json row;
  if (style_of(table.weight).has_threads) {
    const Thread& thread = table.threads[path.thread];
    row["state"] = table.kinds[path.kind].name;
    row["lock"] = or_null(lock_label(table, path));
    row["thread"] = {{"id", thread.id}, {"name", or_null(thread.name)}};
  } else {
    row["cause"] = table.kinds[path.kind].name;
  }
  row[style_of(table.weight).column] = whole(path.weight);
  row["samples"] = whole(path.samples);
  row["stack"] = ordered_json::array();
  for (const std::uint32_t frame : path.frames) row["stack"].push_back(frame_json(table.frames[frame]));
  return row;
}

std::string stack_cell(const PathTable& table, const WeightedPath& path) {
  std::string cell;
  for (const std::uint32_t frame : path.frames)
    cell += (cell.empty() ? "" : ";") + folded_name(label_of(table.frames[frame]));
  return cell;
}

}  // namespace

ordered_json rows_json(const PathTable& table) {
  ordered_json rows = ordered_json::array();
  for (const WeightedPath& path : table.paths) rows.push_back(row_json(table, path));
  return rows;
}

ExportTable rows_table(const PathTable& table) {
  ExportTable rows;
  if (style_of(table.weight).has_threads)
    rows.columns = {"state", "lock", "thread", "thread name"};
  else
    rows.columns = {"cause"};
  rows.columns.insert(rows.columns.end(), {style_of(table.weight).column, "samples", "stack"});
  for (const WeightedPath& path : table.paths) {
    std::vector<std::string>& cells = rows.rows.emplace_back();
    cells.push_back(table.kinds[path.kind].name);
    if (style_of(table.weight).has_threads) {
      const Thread& thread = table.threads[path.thread];
      cells.insert(cells.end(), {lock_label(table, path), fmt::format("{}", thread.id), thread.name});
    }
    cells.insert(cells.end(), {fmt::format("{}", whole(path.weight)), fmt::format("{}", whole(path.samples)),
                               stack_cell(table, path)});
  }
  return rows;
}

}  // namespace elision::profile
