// SPDX-License-Identifier: Apache-2.0
#include "profile/call_paths.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace elision::profile {
namespace {

/// Numbers values in the order of their first use.
template <class Value>
class Numbered {
 public:
  std::uint32_t number_of(const Value& value) {
    return numbers_.emplace(value, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<Value, std::uint32_t> numbers_;
};

void most_time_first(std::vector<Path>& paths) {
  std::stable_sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return a.ns > b.ns; });
}

std::vector<Path> joined(const std::vector<Path>& paths) {
  std::map<std::tuple<State, std::uint32_t, std::uint32_t, std::vector<std::uint32_t>>, Path> sums;
  for (const Path& path : paths) {
    const auto [sum, is_new] = sums.try_emplace({path.state, path.lock, path.thread, path.frames}, path);
    if (is_new) continue;
    sum->second.ns += path.ns;
    sum->second.samples += path.samples;
  }
  std::vector<Path> result;
  for (auto& [key, path] : sums) result.push_back(std::move(path));
  return result;
}

}  // namespace

void CallPaths::add(State state, std::uint64_t lock, std::uint32_t thread,
                    const std::vector<std::uint64_t>& places, double ns) {
  Key key{state, lock, thread, places};
  if (sums_.size() >= kMostPaths && sums_.find(key) == sums_.end()) std::get<3>(key).clear();
  if (sums_.size() >= 2 * kMostPaths && sums_.find(key) == sums_.end()) std::get<1>(key) = 0;
  Sum& sum = sums_[key];
  sum.ns += ns;
  ++sum.samples;
  ++samples_;
}

void CallPaths::add_scaled(const CallPaths& other, double ns_per_unit) {
  for (const auto& [key, more] : other.sums_) {
    Sum& sum = sums_[key];
    sum.ns += more.ns * ns_per_unit;
    sum.samples += more.samples;
  }
  samples_ += other.samples_;
}

void CallPaths::add_to(Profile& profile) const {
  std::map<std::uint64_t, std::uint32_t> locks;
  for (std::size_t i = 0; i < profile.locks.size(); ++i)
    locks.emplace(profile.locks[i].place.address, static_cast<std::uint32_t>(i));
  Numbered<std::uint32_t> threads;
  Numbered<std::uint64_t> frames;
  for (const auto& [key, sum] : sums_) {
    const auto& [state, lock, thread, places] = key;
    Path path{state};
    if (lock != 0) {
      const auto [known, is_new] = locks.emplace(lock, static_cast<std::uint32_t>(profile.locks.size()));
      if (is_new) profile.locks.emplace_back().place.address = lock;
      path.lock = known->second;
    }
    path.thread = threads.number_of(thread);
    if (path.thread == profile.threads.size()) profile.threads.push_back({thread});
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      path.frames.push_back(frames.number_of(*place));
      if (path.frames.back() == profile.frames.size()) profile.frames.push_back({*place});
    }
    path.ns = sum.ns;
    path.samples = sum.samples;
    profile.paths.push_back(std::move(path));
  }
  most_time_first(profile.paths);
}

/// What the library calls lies inside of its calls: glibc's mutexes, the kernel's waits.
std::vector<std::uint64_t> places_outside_library(const std::vector<CallStep>& chain, const Names& names) {
  constexpr std::size_t kMostInside = 8;
  const auto in_library = [&names](const CallStep& step) { return names.is_in_lock_library(step.place()); };
  const auto end_inside = chain.begin() + static_cast<std::ptrdiff_t>(std::min(kMostInside, chain.size()));
  auto first = std::find_if(chain.begin(), end_inside, in_library);
  if (first == end_inside) first = chain.begin();
  first = std::find_if_not(first, chain.end(), in_library);
  std::vector<std::uint64_t> places;
  for (auto step = first; step != chain.end(); ++step) places.push_back(step->place());
  return places;
}

void name_frames(Profile& profile, const Names& names) {
  // Without a name, functions differ by their address.
  using Key = std::tuple<std::string, std::string, std::uint32_t, std::uint64_t>;
  std::map<Key, std::uint32_t> known;
  std::vector<Place> functions;
  std::vector<std::vector<std::uint32_t>> of_frame;
  for (const Place& frame : profile.frames) {
    std::vector<std::uint32_t>& numbers = of_frame.emplace_back();
    for (Place& function : names.functions_around(frame.address)) {
      const std::uint64_t address = function.name.empty() ? function.address : 0;
      const auto [number, is_new] = known.emplace(Key{function.name, function.file, function.line, address},
                                                  static_cast<std::uint32_t>(functions.size()));
      if (is_new) functions.push_back(std::move(function));
      numbers.push_back(number->second);
    }
  }
  for (Path& path : profile.paths) {
    std::vector<std::uint32_t> frames;
    for (const std::uint32_t frame : path.frames)
      frames.insert(frames.end(), of_frame[frame].begin(), of_frame[frame].end());
    path.frames = std::move(frames);
  }
  profile.frames = std::move(functions);
  profile.paths = joined(profile.paths);
  most_time_first(profile.paths);
}

void order_locks(Profile& profile, bool (*first)(const Lock& a, const Lock& b)) {
  std::vector<std::uint32_t> order(profile.locks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return first(profile.locks[a], profile.locks[b]);
  });
  std::vector<Lock> locks;
  std::vector<std::uint32_t> number_now(order.size());
  for (const std::uint32_t before : order) {
    number_now[before] = static_cast<std::uint32_t>(locks.size());
    locks.push_back(std::move(profile.locks[before]));
  }
  profile.locks = std::move(locks);
  for (Path& path : profile.paths)
    if (path.lock != Path::kNoLock) path.lock = number_now[path.lock];
}

}  // namespace elision::profile
