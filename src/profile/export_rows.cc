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

ordered_json row_json(const Profile& profile, const Path& path) {
  const Thread& thread = profile.threads[path.thread];
  ordered_json row = {{"state", name_of(path.state)},
                      {"lock", or_null(lock_label(profile, path))},
                      {"thread", {{"id", thread.id}, {"name", or_null(thread.name)}}},
                      {"ns", whole(path.ns)},
                      {"samples", whole(path.samples)},
                      {"stack", ordered_json::array()}};
  for (const std::uint32_t frame : path.frames) row["stack"].push_back(frame_json(profile.frames[frame]));
  return row;
}

std::string stack_cell(const Profile& profile, const Path& path) {
  std::string cell;
  for (const std::uint32_t frame : path.frames)
    cell += (cell.empty() ? "" : ";") + folded_name(label_of(profile.frames[frame]));
  return cell;
}

}  // namespace

ordered_json rows_json(const Profile& profile) {
  ordered_json rows = ordered_json::array();
  for (const Path& path : profile.paths) rows.push_back(row_json(profile, path));
  return rows;
}

ExportTable rows_table(const Profile& profile) {
  ExportTable table{{"state", "lock", "thread", "thread name", "ns", "samples", "stack"}, {}};
  for (const Path& path : profile.paths) {
    const Thread& thread = profile.threads[path.thread];
    table.rows.push_back({name_of(path.state), lock_label(profile, path), fmt::format("{}", thread.id),
                          thread.name, fmt::format("{}", whole(path.ns)),
                          fmt::format("{}", whole(path.samples)), stack_cell(profile, path)});
  }
  return table;
}

}  // namespace elision::profile
