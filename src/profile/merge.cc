// SPDX-License-Identifier: Apache-2.0
#include "profile/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "profile/abort_account.h"
#include "profile/lock_sums.h"
#include "profile/place_key.h"
#include "profile/shared_data.h"

namespace elision::profile {
namespace {

/// An order of all places, so that which of several stands for all does not depend on the order of profiles.
bool is_before(const Place& a, const Place& b) {
  const auto members = [](const Place& place) {
    return std::tie(place.name, place.file, place.line, place.address);
  };
  const auto how_unknown = [](const Place& place) {
    return has_name(place) ? 0 : place.address != 0 ? 1 : 2;
  };
  return how_unknown(a) != how_unknown(b) ? how_unknown(a) < how_unknown(b) : members(a) < members(b);
}

/// Its name alone, if it has one.
Place without_address(Place place) {
  if (has_name(place)) place.address = 0;
  return place;
}

/// The same place in two processes.
void join(Place& one, const Place& other) {
  if (is_before(other, one)) one = other;
}

void sort_locks(std::vector<const Lock*>& locks) {
  std::stable_sort(locks.begin(), locks.end(),
                   [](const Lock* a, const Lock* b) { return loses_more(*a, *b); });
}

/// A lock of each process: the number counts those of one process with the same name.
using LockKey = std::tuple<bool, PlaceKey, std::size_t>;

LockKey name_of_lock(const Lock& lock) {
  if (!lock.place.name.empty()) return {true, {lock.place.name, "", 0, 0}, 0};
  if (has_name(lock.site)) return {false, key_of(lock.site), 0};
  return {true, key_of(lock.place), 0};
}

std::vector<Place> joined_places(std::vector<Place> places) {
  std::sort(places.begin(), places.end(), is_before);
  std::vector<Place> result;
  for (Place& place : places)
    if (result.empty() || key_of(result.back()) != key_of(place)) result.push_back(std::move(place));
  if (result.size() > kMostMergedPlaces) result.resize(kMostMergedPlaces);
  return result;
}

/// Adds up the entries of `lists` that have one key, and sorts by `amount`.
template <class Entry, class Key, class Add, class Amount>
void join_entries(std::vector<Entry>& entries, Key key, Add add, Amount amount) {
  std::map<decltype(key(entries.front())), Entry> sums;
  for (const Entry& entry : entries) {
    const auto [known, is_new] = sums.try_emplace(key(entry), entry);
    if (!is_new) add(known->second, entry);
  }
  entries.clear();
  for (auto& [name, entry] : sums) entries.push_back(std::move(entry));
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Entry& a, const Entry& b) { return amount(a) > amount(b); });
  if (entries.size() > kMostMergedPlaces) entries.resize(kMostMergedPlaces);
}

void join_conflicts(std::vector<Conflict>& conflicts) {
  const auto key = [](const Conflict& conflict) {
    return std::tuple(key_of(conflict.data), key_of(conflict.victim), key_of(conflict.other),
                      conflict.at_lock);
  };
  const auto add = [](Conflict& sum, const Conflict& conflict) {
    join(sum.data, conflict.data);
    join(sum.victim, conflict.victim);
    join(sum.other, conflict.other);
    sum.counts += conflict.counts;
    sum.places = std::max(sum.places, conflict.places);
  };
  join_entries(conflicts, key, add, [](const Conflict& conflict) { return conflict.counts.count; });
}

void join_line_waits(std::vector<LineWait>& waits) {
  const auto key = [](const LineWait& wait) { return std::pair(key_of(wait.data), key_of(wait.site)); };
  const auto add = [](LineWait& sum, const LineWait& wait) {
    join(sum.data, wait.data);
    join(sum.site, wait.site);
    sum.ns += wait.ns;
  };
  join_entries(waits, key, add, [](const LineWait& wait) { return wait.ns; });
}

/// The site and the calls that led there, of one of the two locks.
bool is_site_before(const Lock& a, const Lock& b) {
  const auto [site_a, site_b] = std::pair(without_address(a.site), without_address(b.site));
  if (is_before(site_a, site_b) || is_before(site_b, site_a)) return is_before(site_a, site_b);
  if (a.callers.empty() || b.callers.empty()) return !a.callers.empty();
  return std::lexicographical_compare(a.callers.begin(), a.callers.end(), b.callers.begin(), b.callers.end(),
                                      is_before);
}

/// Adds up locks. What they say about other locks and about functions has indices of its own.
class LockSum {
 public:
  void add(const Lock& lock) {
    if (!sum_) {
      sum_ = lock;
    } else {
      add_numbers(*sum_, lock);
      join(sum_->place, lock.place);
      sum_->objects = std::max(sum_->objects, lock.objects);
      sum_->most_waits_ns = std::max(sum_->most_waits_ns, lock.most_waits_ns);
      if (is_site_before(lock, *sum_)) sum_->site = lock.site, sum_->callers = lock.callers;
      append(sum_->conflicts, lock.conflicts);
      append(sum_->line_waits, lock.line_waits);
    }
    sites_.push_back(lock.site);
    append(sites_, lock.other_sites);
  }

  void add_inside(std::size_t lock, double ns) { inside_[lock] += ns; }

  const Lock& so_far() const { return *sum_; }

  /// The lock for which threads waited most while they held this one; nothing: none.
  std::optional<std::size_t> inside() const {
    const auto most = std::max_element(inside_.begin(), inside_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most != inside_.end() ? std::optional(most->first) : std::nullopt;
  }

  Lock take(std::uint64_t inside_address) {
    Lock lock = std::move(*sum_);
    for (const Place& site : sites_)
      if (key_of(site) == key_of(lock.site)) join(lock.site, site);
    lock.other_sites = joined_places(std::move(sites_));
    std::erase_if(lock.other_sites, [site = key_of(lock.site)](const Place& place) {
      return key_of(place) == site || (!has_name(place) && place.address == 0);
    });
    join_conflicts(lock.conflicts);
    join_line_waits(lock.line_waits);
    lock.inside = inside_address;
    lock.waits_inside_ns = inside() ? inside_[*inside()] : 0;
    return lock;
  }

 private:
  template <class Entry>
  static void append(std::vector<Entry>& list, const std::vector<Entry>& more) {
    list.insert(list.end(), more.begin(), more.end());
  }

  std::optional<Lock> sum_;
  std::vector<Place> sites_;
  std::map<std::size_t, double> inside_;
};

using AbortKey = std::tuple<std::string, PlaceKey, std::vector<PlaceKey>, std::vector<PlaceKey>>;
AbortKey key_of(const AbortRow& row) {
  const auto keys_of = [](const std::vector<Place>& places) {
    std::vector<PlaceKey> keys;
    for (const Place& place : places) keys.push_back(key_of(place));
    return keys;
  };
  return {row.cause, key_of(row.place), keys_of(row.callers), keys_of(row.inside)};
}

/// Rows that differ in addresses alone are one.
void join_rows(std::vector<AbortRow>& rows) {
  std::map<AbortKey, AbortRow> sums;
  for (AbortRow& row : rows) {
    const auto [known, is_new] = sums.try_emplace(key_of(row), row);
    if (is_new) continue;
    AbortRow& sum = known->second;
    join(sum.place, row.place);
    for (std::size_t i = 0; i < sum.callers.size(); ++i) join(sum.callers[i], row.callers[i]);
    for (std::size_t i = 0; i < sum.inside.size(); ++i) join(sum.inside[i], row.inside[i]);
    for (const auto number : {&AbortRow::samples, &AbortRow::aborts, &AbortRow::cycles})
      sum.*number += row.*number;
  }
  rows.clear();
  for (auto& [key, row] : sums) rows.push_back(std::move(row));
  keep_most_cycles(rows);
}

/// What several processes' events tell together. Where one tells something, the sum does.
void add_abort_events(std::optional<AbortEvents>& sum, const std::optional<AbortEvents>& more) {
  if (!more) return;
  if (!sum) {
    sum = more;
    return;
  }
  const bool tells = sum->missing.empty() || more->missing.empty();
  sum->counted = (sum->counted || !sum->missing.empty()) && (more->counted || !more->missing.empty());
  sum->missing = tells ? "" : std::max(sum->missing, more->missing);
  for (const auto number :
       {&AbortEvents::aborts, &AbortEvents::commits, &AbortEvents::samples, &AbortEvents::sampled_aborts,
        &AbortEvents::lost, &AbortEvents::with_branches, &AbortEvents::whole_paths, &AbortEvents::cycles,
        &AbortEvents::equal_samples, &AbortEvents::counted_cycles})
    (*sum).*number += (*more).*number;
  if (sum->period != more->period) sum->period = 0;
  sum->running = std::min(sum->running, more->running);
  for (const auto& [cause, count] : more->by_cause) sum->by_cause[cause] += count;
  sum->rows.insert(sum->rows.end(), more->rows.begin(), more->rows.end());
}

void add_access_events(std::optional<AccessEvents>& sum, const std::optional<AccessEvents>& more) {
  if (!more) return;
  if (!sum) {
    sum = more;
    return;
  }
  for (const auto number :
       {&AccessEvents::loads, &AccessEvents::stores, &AccessEvents::unknown, &AccessEvents::lost,
        &AccessEvents::throttled, &AccessEvents::shared, &AccessEvents::apart})
    (*sum).*number += (*more).*number;
  if (sum->period != more->period) sum->period = 0;
  sum->rows.insert(sum->rows.end(), more->rows.begin(), more->rows.end());
}

/// Rows with one key are one.
void join_rows(std::vector<SharedData>& rows) {
  std::map<SharedDataKey, SharedData> sums;
  for (SharedData& row : rows) {
    const auto [known, is_new] = sums.try_emplace(key_of(row), row);
    if (is_new) continue;
    SharedData& sum = known->second;
    join(sum.data, row.data);
    join(sum.earlier, row.earlier);
    join(sum.later, row.later);
    sum.samples += row.samples;
    sum.apart += row.apart;
    sum.lines += row.lines;
  }
  rows.clear();
  for (auto& [key, row] : sums) rows.push_back(std::move(row));
  keep_most_samples(rows);
}

/// The indices that locks, threads and functions of one profile get in the sum.
struct Indices {
  std::vector<std::uint32_t> locks, frames;
  std::uint32_t first_thread = 0;
};

class Merger {
 public:
  void add(Profile profile) {
    add_numbers_of(profile);
    Indices indices;
    indices.locks = add_locks(profile);
    indices.frames = add_frames(profile);
    indices.first_thread = static_cast<std::uint32_t>(sum_.threads.size());
    std::move(profile.threads.begin(), profile.threads.end(), std::back_inserter(sum_.threads));
    for (Path& path : profile.paths) add_path(std::move(path), indices);
  }

  Profile take() {
    if (!knows_independent_samples_) sum_.independent_samples = {};
    take_locks();
    join_paths();
    if (sum_.abort_events) join_rows(sum_.abort_events->rows);
    if (sum_.access_events) join_rows(sum_.access_events->rows);
    return std::move(sum_);
  }

 private:
  void add_numbers_of(const Profile& profile) {
    sum_.exact = profile.exact;
    sum_.samples += profile.samples;
    sum_.acquisitions_estimated |= profile.acquisitions_estimated;
    sum_.most_threads = std::max(sum_.most_threads, profile.most_threads);
    sum_.cpus = std::max(sum_.cpus, profile.cpus);
    for (const auto number : {&Profile::wall_ns, &Profile::parallel_ns, &Profile::interrupted,
                              &Profile::faulted, &Profile::parked_ns, &Profile::paths_lost})
      sum_.*number += profile.*number;
    sum_.paths_missing = std::max(sum_.paths_missing, profile.paths_missing);  // one of those that differ
    knows_independent_samples_ |= profile.independent_samples != std::array<double, kStates>{};
    for (std::size_t i = 0; i < kStates; ++i) {
      sum_.times[i] += profile.times[i];
      sum_.independent_samples[i] += profile.samples_of(static_cast<State>(i));
    }
    add_abort_events(sum_.abort_events, profile.abort_events);
    add_access_events(sum_.access_events, profile.access_events);
  }

  std::vector<std::uint32_t> add_locks(const Profile& profile) {
    std::vector<const Lock*> in_order;
    for (const Lock& lock : profile.locks) in_order.push_back(&lock);
    sort_locks(in_order);
    std::vector<std::uint32_t> indices(profile.locks.size());
    std::map<LockKey, std::size_t> seen;
    std::map<std::uint64_t, std::size_t> by_address;
    for (const Lock* const lock : in_order) {
      LockKey key = name_of_lock(*lock);
      std::get<std::size_t>(key) = seen[key]++;
      const std::size_t index = lock_indices_.try_emplace(std::move(key), lock_indices_.size()).first->second;
      if (index == locks_.size()) locks_.emplace_back();
      locks_[index].add(*lock);
      indices[static_cast<std::size_t>(lock - profile.locks.data())] = static_cast<std::uint32_t>(index);
      by_address.try_emplace(lock->place.address, index);
    }
    for (std::size_t i = 0; i < profile.locks.size(); ++i) {
      const auto inside = by_address.find(profile.locks[i].inside);
      if (profile.locks[i].waits_inside_ns > 0 && inside != by_address.end())
        locks_[indices[i]].add_inside(inside->second, profile.locks[i].waits_inside_ns);
    }
    return indices;
  }

  std::vector<std::uint32_t> add_frames(const Profile& profile) {
    std::vector<std::uint32_t> indices;
    for (const Place& frame : profile.frames) {
      const auto [known, is_new] = frame_indices_.try_emplace(key_of(frame), sum_.frames.size());
      if (is_new) sum_.frames.push_back(frame);
      join(sum_.frames[known->second], frame);
      indices.push_back(static_cast<std::uint32_t>(known->second));
    }
    return indices;
  }

  void add_path(Path path, const Indices& indices) {
    if (path.lock != Path::kNoLock) path.lock = indices.locks[path.lock];
    path.thread += indices.first_thread;
    for (std::uint32_t& frame : path.frames) frame = indices.frames[frame];
    sum_.paths.push_back(std::move(path));
  }

  /// Into the order of a profile, which changes the indices in call paths.
  void take_locks() {
    std::vector<const Lock*> in_order;
    std::map<const Lock*, std::size_t> indices;
    for (std::size_t i = 0; i < locks_.size(); ++i) {
      in_order.push_back(&locks_[i].so_far());
      indices[in_order.back()] = i;
    }
    sort_locks(in_order);
    std::vector<std::uint64_t> addresses;
    for (const LockSum& lock : locks_) addresses.push_back(lock.so_far().place.address);
    std::vector<std::uint32_t> places(locks_.size());
    for (const Lock* const lock : in_order) {
      const std::size_t index = indices[lock];
      places[index] = static_cast<std::uint32_t>(sum_.locks.size());
      const std::optional<std::size_t> inside = locks_[index].inside();
      sum_.locks.push_back(locks_[index].take(inside ? addresses[*inside] : 0));
    }
    for (Path& path : sum_.paths)
      if (path.lock != Path::kNoLock) path.lock = places[path.lock];
  }

  /// Those that differ in addresses alone are one.
  void join_paths() {
    const auto key_of_path = [](const Path& path) {
      return std::tie(path.thread, path.state, path.lock, path.frames);
    };
    std::vector<Path>& paths = sum_.paths;
    std::sort(paths.begin(), paths.end(),
              [&](const Path& a, const Path& b) { return key_of_path(a) < key_of_path(b); });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < paths.size(); ++i) {
      if (key_of_path(paths[i]) == key_of_path(paths[kept])) {
        paths[kept].ns += paths[i].ns;
        paths[kept].samples += paths[i].samples;
      } else if (++kept != i) {
        paths[kept] = std::move(paths[i]);
      }
    }
    if (!paths.empty()) paths.resize(kept + 1);
    std::stable_sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return a.ns > b.ns; });
  }

  Profile sum_;
  bool knows_independent_samples_ = false;  // any profile
  std::vector<LockSum> locks_;
  std::map<LockKey, std::size_t> lock_indices_;
  std::map<PlaceKey, std::size_t> frame_indices_;
};

}  // namespace

Profile merged(std::vector<Profile> profiles) {
  if (profiles.size() == 1) return std::move(profiles.front());
  Merger merger;
  for (Profile& profile : profiles) merger.add(std::move(profile));
  return merger.take();
}

void name_threads_by(const std::string& process, Profile& profile) {
  for (Thread& thread : profile.threads)
    thread.name = thread.name.empty() ? process : fmt::format("{}: {}", process, thread.name);
}

}  // namespace elision::profile
