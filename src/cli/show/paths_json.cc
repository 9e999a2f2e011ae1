// SPDX-License-Identifier: Apache-2.0
#include "cli/show/paths_json.h"

#include <fmt/format.h>

#include <unordered_map>

#include "profile/path_table.h"
#include "profile/share_interval.h"

namespace elision::cli {
namespace {

using nlohmann::json;

constexpr std::int64_t kNone = -1;

json frame_json(const profile::Place& place) {
  json result = {{"name", place.name.empty() ? fmt::format("{:#x}", place.address) : place.name}};
  if (!place.file.empty()) result["file"] = place.file;
  if (place.line != 0) result["line"] = place.line;
  return result;
}

/// Stacks with their common callers once.
class Stacks {
 public:
  /// The number of the stack with these functions, the outermost first.
  std::int64_t number_of(const std::vector<std::uint32_t>& frames) {
    std::int64_t stack = kNone;
    for (const std::uint32_t frame : frames) stack = number_of(stack, frame);
    return stack;
  }
  json to_json() const { return {{"caller", callers_}, {"frame", frames_}}; }

 private:
  std::int64_t number_of(std::int64_t caller, std::uint32_t frame) {
    const std::uint64_t key = static_cast<std::uint64_t>(caller + 1) << 32 | frame;
    const auto [found, is_new] = numbers_.emplace(key, static_cast<std::int64_t>(frames_.size()));
    if (is_new) {
      callers_.push_back(caller);
      frames_.push_back(frame);
    }
    return found->second;
  }

  std::unordered_map<std::uint64_t, std::int64_t> numbers_;
  std::vector<std::int64_t> callers_;
  std::vector<std::uint32_t> frames_;
};

template <class Value>
json column(const profile::PathTable& table, Value value_of) {
  json values = json::array();
  for (const profile::WeightedPath& path : table.paths) values.push_back(value_of(path));
  return values;
}

/// What both tables of paths have: their frames and stacks, and for each path its kind, stack, weight and
/// samples under these names.
json table_json(const profile::PathTable& table, const char* kind, const char* weight) {
  using profile::WeightedPath;
  Stacks stacks;
  json frames = json::array();
  for (const profile::Place& frame : table.frames) frames.push_back(frame_json(frame));
  json paths = {
      {kind, column(table, [](const WeightedPath& path) { return path.kind; })},
      {"stack", column(table, [&stacks](const WeightedPath& path) { return stacks.number_of(path.frames); })},
      {weight, column(table, [](const WeightedPath& path) { return path.weight; })},
      {"samples", column(table, [](const WeightedPath& path) { return path.samples; })}};
  return {{"frames", std::move(frames)}, {"stacks", stacks.to_json()}, {"paths", std::move(paths)}};
}

json kinds_json(const profile::PathTable& table) {
  json kinds = json::array();
  for (const profile::PathKind& kind : table.kinds) kinds.push_back(kind.name);
  return kinds;
}

}  // namespace

json threads_json(const profile::Profile& profile) {
  json threads = json::array();
  for (const profile::Thread& thread : profile.threads) {
    threads.push_back({{"id", thread.id}, {"commits", thread.commits}, {"aborts", thread.aborts}});
    if (!thread.name.empty()) threads.back()["name"] = thread.name;
  }
  return threads;
}

json call_paths_json(const profile::Profile& profile) {
  if (profile.paths.empty()) return nullptr;
  using profile::Path, profile::WeightedPath;
  const profile::PathTable table = profile::paths_of_time(profile);
  json result = table_json(table, "state", "ns");
  result["states"] = kinds_json(table);
  result["locks"] = table.locks;
  result["lost"] = profile.paths_lost;
  result["paths"]["lock"] = column(table, [](const WeightedPath& path) {
    return path.lock == Path::kNoLock ? kNone : std::int64_t{path.lock};
  });
  result["paths"]["thread"] = column(table, [](const WeightedPath& path) { return path.thread; });
  return result;
}

json abort_paths_json(const profile::Profile& profile) {
  const profile::PathTable table = profile::paths_of_aborts(profile);
  if (table.paths.empty()) return nullptr;
  json result = table_json(table, "cause", "weight");
  result["causes"] = kinds_json(table);
  result["unit"] = profile::style_of(table.weight).column;
  return result;
}

json time_intervals_json(const profile::Profile& profile) {
  const double all = profile.thread_ns();
  if (profile.exact || !(all > 0)) return nullptr;
  json intervals = json::object();
  for (std::size_t i = 0; i < profile::kStates; ++i) {
    const profile::Bounds interval = profile::interval_of_share(
        profile.times[i] / all, profile.samples_of(static_cast<profile::State>(i)));
    intervals[profile::kStateNames[i]] = {
        {"low", interval.low}, {"high", interval.high}, {"confidence", profile::kShareConfidence}};
  }
  return intervals;
}

}  // namespace elision::cli
