// SPDX-License-Identifier: Apache-2.0
#include "cli/show/paths_json.h"

#include <fmt/format.h>

#include <unordered_map>

#include "profile/analysis.h"
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
json column(const profile::Profile& profile, Value value_of) {
  json values = json::array();
  for (const profile::Path& path : profile.paths) values.push_back(value_of(path));
  return values;
}

json paths_json(const profile::Profile& profile, Stacks& stacks) {
  using profile::Path;
  return {{"state", column(profile, [](const Path& path) { return static_cast<unsigned>(path.state); })},
          {"lock", column(profile,
                          [](const Path& path) {
                            return path.lock == Path::kNoLock ? kNone : std::int64_t{path.lock};
                          })},
          {"thread", column(profile, [](const Path& path) { return path.thread; })},
          {"stack", column(profile, [&stacks](const Path& path) { return stacks.number_of(path.frames); })},
          {"ns", column(profile, [](const Path& path) { return path.ns; })},
          {"samples", column(profile, [](const Path& path) { return path.samples; })}};
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
  json frames = json::array(), locks = json::array();
  for (const profile::Place& frame : profile.frames) frames.push_back(frame_json(frame));
  for (const profile::Lock& lock : profile.locks) locks.push_back(profile::name_of(lock));
  Stacks stacks;
  json paths = paths_json(profile, stacks);
  return {{"states", profile::kStateNames},
          {"locks", locks},
          {"frames", frames},
          {"stacks", stacks.to_json()},
          {"paths", std::move(paths)},
          {"lost", profile.paths_lost}};
}

json time_intervals_json(const profile::Profile& profile) {
  const double all = profile.thread_ns();
  if (profile.exact || !(all > 0)) return nullptr;
  json intervals = json::object();
  for (std::size_t i = 0; i < profile::kStates; ++i) {
    const profile::ShareInterval interval = profile::interval_of_share(
        profile.times[i] / all, profile.samples_of(static_cast<profile::State>(i)));
    intervals[profile::kStateNames[i]] = {
        {"low", interval.low}, {"high", interval.high}, {"confidence", profile::kShareConfidence}};
  }
  return intervals;
}

}  // namespace elision::cli
