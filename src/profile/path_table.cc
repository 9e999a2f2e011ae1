// SPDX-License-Identifier: Apache-2.0
#include "profile/path_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "profile/analysis.h"

namespace elision::profile {
namespace {

struct StateStyle {
  const char* colour;
  const char* frame;
};

// By number of the state.
constexpr StateStyle kStateStyles[kStates] = {{"lightblue", ""},
                                              {"blue", "[holding {}]"},
                                              {"green", "[in a transaction of {}]"},
                                              {"red", "[in an aborted transaction of {}]"},
                                              {"orange", "[in the fallback of {}]"},
                                              {"yellow", "[waiting for {}]"},
                                              {"purple", "[speculating at {}]"},
                                              {"magenta", "[in the code of {}]"},
                                              {"transparent", "[blocked]"}};

// Of the causes of samples (abort_account.h). Others are grey.
const std::map<std::string, const char*> kCauseColours = {{"conflict", "red"},       {"capacity", "blue"},
                                                          {"lock-busy", "yellow"},   {"explicit", "magenta"},
                                                          {"instruction", "orange"}, {"interrupt", "green"}};

/// The frames of a table, each place once.
class Frames {
 public:
  explicit Frames(std::vector<Place>& list) : list_(list) {}
  std::uint32_t number_of(const Place& place) {
    const auto [known, is_new] = numbers_.try_emplace({place.address, place.name, place.file, place.line},
                                                      static_cast<std::uint32_t>(list_.size()));
    if (is_new) list_.push_back(place);
    return known->second;
  }

 private:
  std::vector<Place>& list_;
  std::map<std::tuple<std::uint64_t, std::string, std::string, std::uint32_t>, std::uint32_t> numbers_;
};

std::vector<std::uint32_t> stack_of_abort(const AbortRow& row, Frames& frames) {
  static const Place kBegin{.name = kInTransaction}, kMany{.name = "[many places]"};
  std::vector<std::uint32_t> stack;
  const auto add_calls = [&](const std::vector<Place>& innermost_first) {
    for (auto place = innermost_first.rbegin(); place != innermost_first.rend(); ++place)
      stack.push_back(frames.number_of(*place));
  };
  add_calls(row.callers);
  stack.push_back(frames.number_of(kBegin));
  add_calls(row.inside);
  stack.push_back(frames.number_of(is_many(row.place) ? kMany : row.place));
  return stack;
}

std::uint32_t kind_of_cause(const std::string& cause, std::vector<PathKind>& kinds) {
  const auto known =
      std::ranges::find_if(kinds, [&cause](const PathKind& kind) { return kind.name == cause; });
  const auto number = static_cast<std::uint32_t>(known - kinds.begin());
  if (known != kinds.end()) return number;
  const auto colour = kCauseColours.find(cause);
  kinds.push_back(
      {cause, cause, colour != kCauseColours.end() ? colour->second : "grey", fmt::format("[{}]", cause)});
  return number;
}

constexpr WeightStyle kTimeStyle = {"ns", "time", "nanoseconds", "us", 1000, true},
                      kCyclesStyle = {"cycles", "aborted_cycles", "count", "cycles", 1, false},
                      kAbortsStyle = {"aborts", "aborts", "count", "aborts", 1, false};

void add_loss(std::vector<std::string>& remarks, double lost) {
  if (lost > 0) remarks.push_back(fmt::format("{:.0f} samples were lost", lost));
}

}  // namespace

const WeightStyle& style_of(Weight weight) {
  switch (weight) {
    case Weight::kCycles:
      return kCyclesStyle;
    case Weight::kAborts:
      return kAbortsStyle;
    case Weight::kTime:
      break;
  }
  return kTimeStyle;
}

double PathTable::sum() const {
  return std::accumulate(paths.begin(), paths.end(), 0.0,
                         [](double sum, const WeightedPath& path) { return sum + path.weight; });
}

PathTable paths_of_time(const Profile& profile) {
  PathTable table{.weight = Weight::kTime,
                  .threads = profile.threads,
                  .frames = profile.frames,
                  .wall_ns = profile.wall_ns};
  for (std::size_t i = 0; i < kStates; ++i)
    table.kinds.push_back({kStateNames[i], kStateWords[i], kStateStyles[i].colour, kStateStyles[i].frame});
  for (const Lock& lock : profile.locks) table.locks.push_back(name_of(lock));
  for (const Path& path : profile.paths)
    table.paths.push_back(
        {static_cast<std::uint32_t>(path.state), path.lock, path.thread, path.frames, path.ns, path.samples});
  add_loss(table.remarks, profile.paths_lost);
  if (!profile.paths_missing.empty()) table.remarks.push_back(profile.paths_missing);
  return table;
}

PathTable paths_of_aborts(const Profile& profile) {
  PathTable table{.weight = Weight::kCycles, .wall_ns = profile.wall_ns};
  if (!profile.abort_events || !profile.abort_events->missing.empty()) return table;
  if (!(profile.abort_events->cycles > 0)) table.weight = Weight::kAborts;
  table.threads.push_back({.name = "all threads"});
  Frames frames(table.frames);
  for (const AbortRow& row : profile.abort_events->rows)
    table.paths.push_back({.kind = kind_of_cause(row.cause, table.kinds),
                           .frames = stack_of_abort(row, frames),
                           .weight = table.weight == Weight::kCycles ? row.cycles : row.aborts,
                           .samples = row.samples});
  add_loss(table.remarks, profile.abort_events->lost);
  return table;
}

std::string lock_label(const PathTable& table, const WeightedPath& path) {
  return path.lock == Path::kNoLock ? "" : table.locks[path.lock];
}

std::string kind_label(const PathTable& table, const WeightedPath& path) {
  static constexpr std::string_view kLock = "{}";
  std::string label = table.kinds[path.kind].frame;
  const std::size_t at = style_of(table.weight).has_threads ? label.find(kLock) : std::string::npos;
  if (at == std::string::npos) return label;
  const std::string lock = lock_label(table, path);
  return label.replace(at, kLock.size(), lock.empty() ? "a lock" : lock);
}

std::vector<const Place*> stack_of(const PathTable& table, const WeightedPath& path) {
  static const Place kUnknown{.name = "[unknown]"};
  if (path.frames.empty()) return {&kUnknown};
  std::vector<const Place*> stack;
  for (const std::uint32_t frame : path.frames) stack.push_back(&table.frames[frame]);
  return stack;
}

std::vector<std::size_t> order_by_thread(const PathTable& table) {
  std::vector<std::size_t> order(table.paths.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::size_t index) {
    const WeightedPath& path = table.paths[index];
    return std::make_tuple(path.thread, path.kind, -path.weight);
  };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return key(a) < key(b); });
  return order;
}

double weight_of_sample(const PathTable& table) {
  const double samples =
      std::accumulate(table.paths.begin(), table.paths.end(), 0.0,
                      [](double sum, const WeightedPath& path) { return sum + path.samples; });
  return samples > 0 ? table.sum() / samples : 0;
}

}  // namespace elision::profile
