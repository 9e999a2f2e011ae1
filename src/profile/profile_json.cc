// SPDX-License-Identifier: Apache-2.0
#include "profile/profile_json.h"

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

Place place_from(const json& in) {
  return {in.at("address").get<std::uint64_t>(), in.value("name", ""), in.value("file", ""),
          in.value("line", 0u)};
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

auto writer(ordered_json& out) {
  return [&out](const char* name, const auto& value) { out[name] = value; };
}
auto reader(const json& in) {
  return [&in](const char* name, auto& value) { in.at(name).get_to(value); };
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

ordered_json lock_json(const Lock& lock) {
  ordered_json out{{"place", place_json(lock.place)}, {"site", place_json(lock.site)}};
  visit_lock(writer(out), lock);
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

Lock lock_from(const json& in) {
  Lock lock;
  lock.place = place_from(in.at("place"));
  lock.site = place_from(in.at("site"));
  visit_lock(reader(in), lock);
  lock.conflicts_seen = counts_from(in.at("conflicts_seen"));
  for (const json& caller : in.at("callers")) lock.callers.push_back(place_from(caller));
  for (const json& site : in.at("other_sites")) lock.other_sites.push_back(place_from(site));
  for (const json& conflict : in.at("conflicts"))
    lock.conflicts.push_back({place_from(conflict.at("data")), place_from(conflict.at("victim")),
                              place_from(conflict.at("other")), counts_from(conflict.at("counts")),
                              conflict.at("at_lock").get<bool>()});
  for (const json& wait : in.at("line_waits"))
    lock.line_waits.push_back(
        {place_from(wait.at("data")), place_from(wait.at("site")), wait.at("ns").get<double>()});
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

[[noreturn]] void throw_damaged(const std::string& what) { throw std::invalid_argument(what); }

State state_from(const std::string& name) {
  for (std::size_t i = 0; i < kStates; ++i)
    if (name == kStateNames[i]) return static_cast<State>(i);
  throw_damaged("there is no state '" + name + "'");
}

Path path_from(const json& in, const Profile& profile) {
  Path path;
  path.state = state_from(in.at("state").get<std::string>());
  path.lock = in.value("lock", Path::kNoLock);
  in.at("thread").get_to(path.thread);
  in.at("frames").get_to(path.frames);
  in.at("ns").get_to(path.ns);
  in.at("samples").get_to(path.samples);
  if (path.lock != Path::kNoLock && path.lock >= profile.locks.size())
    throw_damaged("a call path is at a lock that is not there");
  if (path.thread >= profile.threads.size()) throw_damaged("a call path is of a thread that is not there");
  for (const std::uint32_t frame : path.frames)
    if (frame >= profile.frames.size()) throw_damaged("a call path has a function that is not there");
  return path;
}

/// Profiles before version 2 of the file have no call paths.
void paths_from(const json& in, Profile& profile) {
  if (!in.contains("paths")) return;
  for (const json& thread : in.at("threads")) visit_thread(reader(thread), profile.threads.emplace_back());
  for (const json& frame : in.at("frames")) profile.frames.push_back(place_from(frame));
  for (const json& path : in.at("paths")) profile.paths.push_back(path_from(path, profile));
  in.at("paths_lost").get_to(profile.paths_lost);
}

}  // namespace

ordered_json profile_json(const Profile& profile) {
  ordered_json out = ordered_json::object();
  visit_profile(writer(out), profile);
  for (std::size_t i = 0; i < kStates; ++i) out["times_ns"][kStateNames[i]] = profile.times[i];
  out["locks"] = ordered_json::array();
  for (const Lock& lock : profile.locks) out["locks"].push_back(lock_json(lock));
  for (const char* const list : {"threads", "frames", "paths"}) out[list] = ordered_json::array();
  for (const Thread& thread : profile.threads)
    visit_thread(writer(out["threads"].emplace_back(ordered_json::object())), thread);
  for (const Place& frame : profile.frames) out["frames"].push_back(place_json(frame));
  for (const Path& path : profile.paths) out["paths"].push_back(path_json(path));
  out["paths_lost"] = profile.paths_lost;
  return out;
}

Profile profile_from_json(const json& in) {
  Profile profile;
  visit_profile(reader(in), profile);
  for (std::size_t i = 0; i < kStates; ++i)
    profile.times[i] = in.at("times_ns").at(kStateNames[i]).get<double>();
  for (const json& lock : in.at("locks")) profile.locks.push_back(lock_from(lock));
  paths_from(in, profile);
  return profile;
}

}  // namespace elision::profile
