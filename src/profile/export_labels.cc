// SPDX-License-Identifier: Apache-2.0
#include "profile/export_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "profile/analysis.h"

namespace elision::profile {
namespace {

// By number of the state; {} is the lock.
constexpr const char* kFrames[kStates] = {"",
                                          "[holding {}]",
                                          "[in a transaction of {}]",
                                          "[in an aborted transaction of {}]",
                                          "[in the fallback of {}]",
                                          "[waiting for {}]",
                                          "[speculating at {}]",
                                          "[in the code of {}]",
                                          "[blocked]"};

}  // namespace

std::vector<std::string> remarks_of(const Profile& profile, const Origin& origin) {
  std::vector<std::string> remarks = {origin.command, origin.conditions, origin.writer};
  if (profile.paths_lost > 0) remarks.push_back(fmt::format("{:.0f} samples were lost", profile.paths_lost));
  if (!profile.paths_missing.empty()) remarks.push_back(profile.paths_missing);
  return remarks;
}

std::string label_of(const Thread& thread) {
  return thread.name.empty() ? fmt::format("thread {}", thread.id)
                             : fmt::format("{} ({})", thread.name, thread.id);
}

std::string label_of(const Place& frame) {
  return frame.name.empty() ? fmt::format("{:#x}", frame.address) : frame.name;
}

std::string lock_label(const Profile& profile, const Path& path) {
  return path.lock == Path::kNoLock ? "" : name_of(profile.locks[path.lock]);
}

std::string state_label(const Profile& profile, const Path& path) {
  const std::string lock = lock_label(profile, path);
  return fmt::format(fmt::runtime(kFrames[static_cast<std::size_t>(path.state)]),
                     lock.empty() ? "a lock" : lock);
}

std::vector<const Place*> stack_of(const Profile& profile, const Path& path) {
  static const Place kUnknown{.name = "[unknown]"};
  if (path.frames.empty()) return {&kUnknown};
  std::vector<const Place*> stack;
  for (const std::uint32_t frame : path.frames) stack.push_back(&profile.frames[frame]);
  return stack;
}

std::vector<std::size_t> order_by_thread(const Profile& profile) {
  std::vector<std::size_t> order(profile.paths.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::size_t index) {
    const Path& path = profile.paths[index];
    return std::make_tuple(path.thread, path.state, -path.ns);
  };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return key(a) < key(b); });
  return order;
}

std::int64_t whole(double value) { return std::llround(std::clamp(value, 0.0, std::ldexp(1.0, 62))); }

double paths_ns(const Profile& profile) {
  return std::accumulate(profile.paths.begin(), profile.paths.end(), 0.0,
                         [](double sum, const Path& path) { return sum + path.ns; });
}

double sampling_period_ns(const Profile& profile) {
  const double samples = std::accumulate(profile.paths.begin(), profile.paths.end(), 0.0,
                                         [](double sum, const Path& path) { return sum + path.samples; });
  return samples > 0 ? paths_ns(profile) / samples : 0;
}

}  // namespace elision::profile
