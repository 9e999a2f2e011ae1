// SPDX-License-Identifier: Apache-2.0
#include "profile/profile_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <stdexcept>

namespace elision::profile {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json place_json(const Place& place) {
  ordered_json out{{"address", place.address}};
  if (!place.name.empty()) out["name"] = place.name;
  if (!place.file.empty()) out["file"] = place.file, out["line"] = place.line;
  return out;
}

ordered_json places_json(const std::vector<Place>& places) {
  ordered_json out = ordered_json::array();
  for (const Place& place : places) out.push_back(place_json(place));
  return out;
}

/// Sums of times are differences of rounded ones, too.
constexpr double kLeastNumber = -0.5;
constexpr std::uint64_t kMostSamples = 1'000'000'000'000'000;
constexpr std::size_t kMostEntries = std::size_t{1} << 24;  // of one list

[[noreturn]] void throw_damaged(const std::string& what) { throw std::invalid_argument(what); }

const json& member(const json& in, const char* name) {
  if (!in.is_object()) throw_damaged(fmt::format("what has '{}' is no object", name));
  const auto found = in.find(name);
  if (found == in.end()) throw_damaged(fmt::format("'{}' is missing", name));
  return *found;
}

const json& list_in(const json& in, const char* name) {
  const json& list = member(in, name);
  if (!list.is_array()) throw_damaged(fmt::format("'{}' is no list", name));
  return list;
}

// JSON's numbers become C++'s without a check in nlohmann::json: -1 would be a large one.

template <std::unsigned_integral Number>
void take(const json& in, const char* name, Number& value, std::uint64_t most) {
  if (!in.is_number_unsigned() || in.get<std::uint64_t>() > most)
    throw_damaged(fmt::format("'{}' is no whole number up to {}", name, most));
  value = static_cast<Number>(in.get<std::uint64_t>());
}
template <std::unsigned_integral Number>
void take(const json& in, const char* name, Number& value) {
  take(in, name, value, std::numeric_limits<Number>::max());
}
void take(const json& in, const char* name, bool& value) {
  if (!in.is_boolean()) throw_damaged(fmt::format("'{}' is neither true nor false", name));
  value = in.get<bool>();
}
void take(const json& in, const char* name, double& value) {
  if (!in.is_number()) throw_damaged(fmt::format("'{}' is no number", name));
  value = in.get<double>();
  if (!(value > kLeastNumber && value <= kMostNumber))
    throw_damaged(fmt::format("'{}' is not between 0 and {:g}", name, kMostNumber));
  value = std::max(value, 0.0);
}
void take(const json& in, const char* name, std::string& value) {
  if (!in.is_string()) throw_damaged(fmt::format("'{}' is no text", name));
  value = in.get<std::string>();
}
void take(const json& in, const char* name, std::map<std::string, double>& value) {
  if (!in.is_object()) throw_damaged(fmt::format("'{}' is no object", name));
  for (const auto& [key, number] : in.items()) take(number, name, value[key]);
}

auto reader(const json& in) {
  return [&in](const char* name, auto& value) { take(member(in, name), name, value); };
}
/// For members that may be missing.
auto optional_reader(const json& in) {
  return [&in](const char* name, auto& value) {
    if (const auto found = in.find(name); found != in.end()) take(*found, name, value);
  };
}

Place place_from(const json& in) {
  Place place;
  reader(in)("address", place.address);
  const auto read = optional_reader(in);
  read("name", place.name);
  read("file", place.file);
  read("line", place.line);
  return place;
}

std::vector<Place> places_from(const json& in, const char* name) {
  std::vector<Place> places;
  for (const json& place : list_in(in, name)) places.push_back(place_from(place));
  return places;
}

/// The members of T with their names: the one list for both directions.
template <class Visitor, class T>
void visit_lock(Visitor visit, T& lock) {
  visit("acquisitions", lock.acquisitions);
  visit("contended", lock.contended);
  visit("waits_ns", lock.waits_ns);
  visit("longest_wait_ns", lock.longest_wait_ns);
  visit("holds_ns", lock.holds_ns);
  visit("aborted_ns", lock.aborted_ns);
  visit("attempts", lock.attempts);
  visit("commits", lock.commits);
  visit("fallbacks", lock.fallbacks);
  visit("system_calls", lock.system_calls);
  visit("aborts", lock.aborts);
  visit("conflicts_apart_at_lock", lock.conflicts_apart_at_lock);
  visit("line_waits_ns", lock.line_waits_ns);
  visit("waits_inside_ns", lock.waits_inside_ns);
  visit("inside", lock.inside);
}

template <class Visitor, class T>
void visit_counts(Visitor visit, T& counts) {
  visit("count", counts.count);
  visit("apart", counts.apart);
  visit("prefetched", counts.prefetched);
  visit("unknown", counts.unknown);
}

template <class Visitor, class T>
void visit_profile(Visitor visit, T& profile) {
  visit("exact", profile.exact);
  visit("samples", profile.samples);
  visit("acquisitions_estimated", profile.acquisitions_estimated);
  visit("wall_ns", profile.wall_ns);
  visit("parallel_ns", profile.parallel_ns);
  visit("most_threads", profile.most_threads);
  visit("cpus", profile.cpus);
  visit("interrupted", profile.interrupted);
  visit("faulted", profile.faulted);
  visit("parked_ns", profile.parked_ns);
}

template <class Visitor, class T>
void visit_thread(Visitor visit, T& thread) {
  visit("id", thread.id);
  visit("name", thread.name);
  visit("commits", thread.commits);
  visit("aborts", thread.aborts);
}

template <class Visitor, class T>
void visit_abort_row(Visitor visit, T& row) {
  visit("cause", row.cause);
  visit("samples", row.samples);
  visit("aborts", row.aborts);
  visit("cycles", row.cycles);
}

template <class Visitor, class T>
void visit_abort_events(Visitor visit, T& events) {
  visit("missing", events.missing);
  visit("aborts", events.aborts);
  visit("commits", events.commits);
  visit("period", events.period);
  visit("samples", events.samples);
  visit("sampled_aborts", events.sampled_aborts);
  visit("lost", events.lost);
  visit("running", events.running);
  visit("cycles", events.cycles);
  visit("counted_cycles", events.counted_cycles);
  visit("by_cause", events.by_cause);
}
/// Members that older files of the same version do not have.
template <class Visitor, class T>
void visit_newer_abort_events(Visitor visit, T& events) {
  visit("counted", events.counted);
  visit("with_branches", events.with_branches);
  visit("whole_paths", events.whole_paths);
  visit("equal_samples", events.equal_samples);
}

auto writer(ordered_json& out) {
  return [&out](const char* name, const auto& value) { out[name] = value; };
}

ordered_json counts_json(const ConflictCounts& counts) {
  ordered_json out = ordered_json::object();
  visit_counts(writer(out), counts);
  return out;
}
ConflictCounts counts_from(const json& in) {
  ConflictCounts counts;
  visit_counts(reader(in), counts);
  return counts;
}

ordered_json abort_events_json(const AbortEvents& events) {
  ordered_json out = ordered_json::object();
  visit_abort_events(writer(out), events);
  visit_newer_abort_events(writer(out), events);
  out["rows"] = ordered_json::array();
  for (const AbortRow& row : events.rows) {
    ordered_json one{{"place", place_json(row.place)}};
    visit_abort_row(writer(one), row);
    one["callers"] = places_json(row.callers);
    one["inside"] = places_json(row.inside);
    out["rows"].push_back(std::move(one));
  }
  return out;
}
AbortEvents abort_events_from(const json& in) {
  AbortEvents events;
  events.counted = true;  // in older files
  visit_abort_events(reader(in), events);
  visit_newer_abort_events(optional_reader(in), events);
  for (const json& row : list_in(in, "rows")) {
    AbortRow& one = events.rows.emplace_back();
    one.place = place_from(member(row, "place"));
    visit_abort_row(reader(row), one);
    one.callers = places_from(row, "callers");
    if (row.contains("inside")) one.inside = places_from(row, "inside");
  }
  return events;
}

template <class Visitor, class T>
void visit_access_events(Visitor visit, T& events) {
  visit("period", events.period);
  visit("loads", events.loads);
  visit("stores", events.stores);
  visit("unknown", events.unknown);
  visit("lost", events.lost);
  visit("throttled", events.throttled);
  visit("shared", events.shared);
  visit("apart", events.apart);
}
template <class Visitor, class T>
void visit_shared_data(Visitor visit, T& row) {
  visit("earlier_stores", row.earlier_stores);
  visit("later_stores", row.later_stores);
  visit("samples", row.samples);
  visit("apart", row.apart);
  visit("lines", row.lines);
}

ordered_json access_events_json(const AccessEvents& events) {
  ordered_json out = ordered_json::object();
  visit_access_events(writer(out), events);
  out["rows"] = ordered_json::array();
  for (const SharedData& row : events.rows) {
    ordered_json one{{"data", place_json(row.data)},
                     {"earlier", place_json(row.earlier)},
                     {"later", place_json(row.later)}};
    visit_shared_data(writer(one), row);
    out["rows"].push_back(std::move(one));
  }
  return out;
}
AccessEvents access_events_from(const json& in) {
  AccessEvents events;
  visit_access_events(reader(in), events);
  for (const json& row : list_in(in, "rows")) {
    SharedData& one = events.rows.emplace_back();
    one.data = place_from(member(row, "data"));
    one.earlier = place_from(member(row, "earlier"));
    one.later = place_from(member(row, "later"));
    visit_shared_data(reader(row), one);
  }
  return events;
}

/// In place of a lock's time of waiting, until estimate_times(): the file has none.
constexpr double kNotThere = -1;

ordered_json times_json(const StateTimes& times) {
  ordered_json out = ordered_json::object();
  for (std::size_t i = 0; i < kStates; ++i) out[kStateNames[i]] = times[i];
  return out;
}
StateTimes times_from(const json& in) {
  StateTimes times{};
  for (std::size_t i = 0; i < kStates; ++i) reader(in)(kStateNames[i], times[i]);
  return times;
}

ordered_json lock_json(const Lock& lock) {
  ordered_json out{{"place", place_json(lock.place)}, {"site", place_json(lock.site)}};
  visit_lock(writer(out), lock);
  out["times_ns"] = times_json(lock.times);
  out["conflicts_seen"] = counts_json(lock.conflicts_seen);
  out["callers"] = places_json(lock.callers);
  out["other_sites"] = places_json(lock.other_sites);
  out["conflicts"] = ordered_json::array();
  for (const Conflict& conflict : lock.conflicts)
    out["conflicts"].push_back({{"data", place_json(conflict.data)},
                                {"victim", place_json(conflict.victim)},
                                {"other", place_json(conflict.other)},
                                {"counts", counts_json(conflict.counts)},
                                {"at_lock", conflict.at_lock}});
  out["line_waits"] = ordered_json::array();
  for (const LineWait& wait : lock.line_waits)
    out["line_waits"].push_back(
        {{"data", place_json(wait.data)}, {"site", place_json(wait.site)}, {"ns", wait.ns}});
  return out;
}

Conflict conflict_from(const json& in) {
  Conflict conflict;
  conflict.data = place_from(member(in, "data"));
  conflict.victim = place_from(member(in, "victim"));
  conflict.other = place_from(member(in, "other"));
  conflict.counts = counts_from(member(in, "counts"));
  reader(in)("at_lock", conflict.at_lock);
  return conflict;
}

LineWait line_wait_from(const json& in) {
  LineWait wait{place_from(member(in, "data")), place_from(member(in, "site"))};
  reader(in)("ns", wait.ns);
  return wait;
}

Lock lock_from(const json& in) {
  Lock lock;
  lock.place = place_from(member(in, "place"));
  lock.site = place_from(member(in, "site"));
  visit_lock(reader(in), lock);
  if (in.contains("times_ns"))
    lock.times = times_from(in["times_ns"]);
  else
    time_in(lock.times, State::kWaiting) = kNotThere;
  lock.conflicts_seen = counts_from(member(in, "conflicts_seen"));
  lock.callers = places_from(in, "callers");
  lock.other_sites = places_from(in, "other_sites");
  for (const json& conflict : list_in(in, "conflicts")) lock.conflicts.push_back(conflict_from(conflict));
  for (const json& wait : list_in(in, "line_waits")) lock.line_waits.push_back(line_wait_from(wait));
  return lock;
}

ordered_json path_json(const Path& path) {
  ordered_json out{{"state", kStateNames[static_cast<std::size_t>(path.state)]}};
  if (path.lock != Path::kNoLock) out["lock"] = path.lock;
  out["thread"] = path.thread;
  out["frames"] = path.frames;
  out["ns"] = path.ns;
  out["samples"] = path.samples;
  return out;
}

State state_from(const json& in) {
  for (std::size_t i = 0; i < kStates; ++i)
    if (in == kStateNames[i]) return static_cast<State>(i);
  throw_damaged("'state' is no name of a state");
}

Path path_from(const json& in) {
  Path path;
  path.state = state_from(member(in, "state"));
  const auto read = reader(in);
  optional_reader(in)("lock", path.lock);
  read("thread", path.thread);
  for (const json& frame : list_in(in, "frames")) take(frame, "frames", path.frames.emplace_back());
  read("ns", path.ns);
  read("samples", path.samples);
  return path;
}

Thread thread_from(const json& in) {
  Thread thread;
  visit_thread(reader(in), thread);
  return thread;
}

ordered_json thread_json(const Thread& thread) {
  ordered_json out = ordered_json::object();
  visit_thread(writer(out), thread);
  return out;
}

/// A list of a profile: `visit(name, member, entry to JSON, entry from JSON)` for each.
template <class Visitor, class T>
void visit_lists(Visitor visit, T& profile) {
  visit("locks", profile.locks, lock_json, lock_from);
  visit("threads", profile.threads, thread_json, thread_from);
  visit("frames", profile.frames, place_json, place_from);
  visit("paths", profile.paths, path_json, path_from);
}

/// For locks of files from before these times were kept. In exact profiles a wait contains attempts that
/// aborted.
void estimate_times(Lock& lock, bool exact) {
  if (time_in(lock.times, State::kWaiting) != kNotThere) return;
  time_in(lock.times, State::kWaiting) = std::max(0.0, lock.waits_ns - (exact ? lock.aborted_ns : 0));
  time_in(lock.times, State::kAborted) = lock.aborted_ns;
}

void require_indices(const Path& path, const Profile& profile) {
  if (path.lock != Path::kNoLock && path.lock >= profile.locks.size())
    throw_damaged("a call path is at a lock that is not there");
  if (path.thread >= profile.threads.size()) throw_damaged("a call path is of a thread that is not there");
  for (const std::uint32_t frame : path.frames)
    if (frame >= profile.frames.size()) throw_damaged("a call path has a function that is not there");
}

}  // namespace

ordered_json profile_json_without_lists(const Profile& profile) {
  ordered_json out = ordered_json::object();
  visit_profile(writer(out), profile);
  out["times_ns"] = times_json(profile.times);
  if (profile.independent_samples != std::array<double, kStates>{})
    out["independent_samples"] = times_json(profile.independent_samples);
  out["paths_lost"] = profile.paths_lost;
  if (!profile.paths_missing.empty()) out["paths_missing"] = profile.paths_missing;
  if (profile.abort_events) out["abort_events"] = abort_events_json(*profile.abort_events);
  if (profile.access_events) out["access_events"] = access_events_json(*profile.access_events);
  return out;
}

void visit_entries(const Profile& profile, const ListVisitor& visit) {
  visit_lists(
      [&visit](const char* name, const auto& list, const auto& to_json, const auto&) {
        visit(name, list.size(), [&list, &to_json](std::size_t i) { return to_json(list[i]); });
      },
      profile);
}

ordered_json profile_json(const Profile& profile) {
  ordered_json out = profile_json_without_lists(profile);
  visit_entries(profile, [&out](const char* name, std::size_t size, const EntryJson& entry) {
    ordered_json& list = out[name] = ordered_json::array();
    for (std::size_t i = 0; i < size; ++i) list.push_back(entry(i));
  });
  return out;
}

bool is_within_bounds(const Profile& profile) {
  bool within = profile.samples <= kMostSamples && profile.paths_lost <= kMostNumber;
  const auto look = [&within](const char*, const auto& value) {
    if constexpr (std::same_as<decltype(value), const double&>) within &= value <= kMostNumber;
    if constexpr (std::same_as<decltype(value), const std::map<std::string, double>&>)
      for (const auto& [name, number] : value) within &= number <= kMostNumber;
  };
  visit_profile(look, profile);
  for (const double time : profile.times) within &= time <= kMostNumber;
  for (const double samples : profile.independent_samples) within &= samples <= kMostNumber;
  for (const Lock& lock : profile.locks) {
    visit_lock(look, lock);
    visit_counts(look, lock.conflicts_seen);
    for (const double time : lock.times) within &= time <= kMostNumber;
    for (const Conflict& conflict : lock.conflicts) visit_counts(look, conflict.counts);
    for (const LineWait& wait : lock.line_waits) within &= wait.ns <= kMostNumber;
  }
  for (const Thread& thread : profile.threads) visit_thread(look, thread);
  for (const Path& path : profile.paths) within &= std::max(path.ns, path.samples) <= kMostNumber;
  if (profile.abort_events) {
    visit_abort_events(look, *profile.abort_events);
    visit_newer_abort_events(look, *profile.abort_events);
    for (const AbortRow& row : profile.abort_events->rows) visit_abort_row(look, row);
  }
  if (profile.access_events) {
    visit_access_events(look, *profile.access_events);
    for (const SharedData& row : profile.access_events->rows) visit_shared_data(look, row);
  }
  return within;
}

bool ProfileReader::is_list(std::string_view name) {
  bool found = false;
  Profile none;
  visit_lists([&](const char* list, const auto&...) { found |= name == list; }, none);
  return found;
}

void ProfileReader::add(std::string_view list, const json& entry) {
  visit_lists(
      [&](const char* name, auto& entries, const auto&, const auto& from_json) {
        if (list != name) return;
        if (entries.size() == kMostEntries)
          throw_damaged(fmt::format("'{}' has more than {} entries", name, kMostEntries));
        entries.push_back(from_json(entry));
      },
      profile_);
}

Profile ProfileReader::finish(const json& rest) {
  visit_profile(reader(rest), profile_);
  if (profile_.samples > kMostSamples)
    throw_damaged(fmt::format("'samples' is no whole number up to {}", kMostSamples));
  profile_.times = times_from(member(rest, "times_ns"));
  if (rest.contains("independent_samples"))  // not in files from before they were kept
    profile_.independent_samples = times_from(rest["independent_samples"]);
  (void)list_in(rest, "locks");
  for (Lock& lock : profile_.locks) estimate_times(lock, profile_.exact);
  if (rest.contains("paths")) {  // not in version 1 of the file
    for (const char* const list : {"threads", "frames", "paths"}) (void)list_in(rest, list);
    reader(rest)("paths_lost", profile_.paths_lost);
  }
  if (rest.contains("paths_missing")) reader(rest)("paths_missing", profile_.paths_missing);
  if (rest.contains("abort_events")) profile_.abort_events = abort_events_from(member(rest, "abort_events"));
  if (rest.contains("access_events"))
    profile_.access_events = access_events_from(member(rest, "access_events"));
  for (const Path& path : profile_.paths) require_indices(path, profile_);
  return std::move(profile_);
}

Profile profile_from_json(const json& in) {
  ProfileReader reader;
  if (!in.is_object()) throw_damaged("the profile is no object");
  for (const auto& [name, list] : in.items())
    if (ProfileReader::is_list(name))
      for (const json& entry : list) reader.add(name, entry);
  return reader.finish(in);
}

}  // namespace elision::profile
