// SPDX-License-Identifier: Apache-2.0
// What a profile in JSON must not be.
#include "profile/profile_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace elision::profile {
namespace {

using nlohmann::json;

/// A profile with one entry in each list.
json example() {
  Profile profile;
  profile.samples = 300;
  Lock lock;
  lock.place = {64, "hot"};
  lock.aborts["conflict"] = 3;
  lock.conflicts = {{{512, "count"}, {1, "get", "map.c", 7}, {2, "put"}, {3}}};
  lock.line_waits = {{{512}, {1}, 5}};
  lock.callers = {{11}};
  profile.locks = {lock};
  profile.threads = {{7, "main", 1, 2}};
  profile.frames = {{16, "main", "m.c", 3}};
  profile.paths = {{State::kWaiting, 0, 0, {0}, 5, 1}};
  profile.access_events = {.period = 97, .loads = 30, .stores = 20, .shared = 10, .apart = 4};
  profile.access_events->rows = {{{512, "count"}, {1, "get", "map.c", 7}, {2, "put"}, false, true, 10, 4, 2}};
  AbortEvents& events = profile.abort_events.emplace();
  events.by_cause["conflict"] = 9;
  events.rows = {{{32, "push", "q.c", 4}, "conflict", {{33, "main"}}, {{34, "push"}}, 1, 9, 900}};
  return json::parse(profile_json(profile).dump());
}

/// What the reader says about `damage`; empty: it accepts it.
std::string said_of(const std::function<void(json&)>& damage) {
  json profile = example();
  damage(profile);
  try {
    (void)profile_from_json(profile);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ProfileJson, ReadsCallPathsAsItWritesThem) {
  const json written = example();
  const Profile profile = profile_from_json(written);
  EXPECT_EQ(json::parse(profile_json(profile).dump()), written);
  ASSERT_EQ(profile.paths.size(), 1u);
  EXPECT_EQ(profile.paths[0].state, State::kWaiting);
  EXPECT_EQ(profile.threads[0].name, "main");
}

TEST(ProfileJson, VersionOneHasNoCallPaths) {
  const auto without = [](json& profile) {
    for (const char* const name : {"paths", "threads", "frames", "paths_lost"}) profile.erase(name);
  };
  EXPECT_EQ(said_of(without), "");
}

TEST(ProfileJson, WithoutIndependentSamplesAllAreTakenAsIndependent) {
  json profile = example();
  for (const char* const state : kStateNames) profile["independent_samples"][state] = 0;
  profile["independent_samples"]["waiting"] = 20;
  EXPECT_EQ(profile_from_json(profile).samples_of(State::kWaiting), 20);
  EXPECT_EQ(profile_from_json(profile).samples_of(State::kOutside), 300) << "0: not known";
  profile.erase("independent_samples");
  EXPECT_EQ(profile_from_json(profile).samples_of(State::kWaiting), 300);
  profile["exact"] = true;
  EXPECT_EQ(profile_from_json(profile).samples_of(State::kWaiting), 0);
  profile["independent_samples"] = json::array();
  EXPECT_NE(said_of([&](json& damaged) { damaged = profile; }), "");
}

TEST(ProfileJson, AbortEventsMayBeMissing) {
  json profile = example();
  profile.erase("abort_events");
  EXPECT_FALSE(profile_from_json(profile).abort_events);
  EXPECT_EQ(profile_from_json(example()).abort_events->rows[0].callers[0].name, "main");
}

// Members of "abort_events" and of its rows that older files do not have.
constexpr const char* kNewer[] = {"counted", "with_branches", "whole_paths", "equal_samples", "inside"};

bool is_newer(const std::string& name) {
  return std::find(std::begin(kNewer), std::end(kNewer), name) != std::end(kNewer);
}

TEST(ProfileJson, AbortEventsOfAnOlderFileWereCounted) {
  json profile = example();
  for (const char* const name : kNewer) {
    profile["abort_events"].erase(name);
    profile["abort_events"]["rows"][0].erase(name);
  }
  const AbortEvents events = *profile_from_json(profile).abort_events;
  EXPECT_TRUE(events.counted);
  EXPECT_EQ(events.equal_samples, 0);
  EXPECT_TRUE(events.rows[0].inside.empty());
  EXPECT_EQ(events.rows[0].place.name, "push");
}

TEST(ProfileJson, EveryMemberMustBeThere) {
  const json whole = example();
  for (const auto& [name, value] : whole.items()) {
    if (name == "paths" || name == "abort_events" || name == "access_events") continue;
    EXPECT_EQ(said_of([&name = name](json& profile) { profile.erase(name); }), "'" + name + "' is missing");
  }
  for (const auto& [name, value] : whole["abort_events"].items())
    EXPECT_EQ(said_of([&name = name](json& profile) { profile["abort_events"].erase(name); }),
              is_newer(name) ? "" : "'" + name + "' is missing");
  for (const auto& [name, value] : whole["abort_events"]["rows"][0].items())
    EXPECT_EQ(said_of([&name = name](json& profile) { profile["abort_events"]["rows"][0].erase(name); }),
              is_newer(name) ? "" : "'" + name + "' is missing");
  for (const auto& [name, value] : whole["access_events"].items())
    EXPECT_EQ(said_of([&name = name](json& profile) { profile["access_events"].erase(name); }),
              "'" + name + "' is missing");
  for (const auto& [name, value] : whole["access_events"]["rows"][0].items())
    EXPECT_EQ(said_of([&name = name](json& profile) { profile["access_events"]["rows"][0].erase(name); }),
              "'" + name + "' is missing");
  for (const auto& [name, value] : whole["locks"][0].items()) {
    if (name == "times_ns") continue;
    EXPECT_EQ(said_of([&name = name](json& profile) { profile["locks"][0].erase(name); }),
              "'" + name + "' is missing");
  }
}

TEST(ProfileJson, LocksWithoutTimesByStateGetThemFromTheirOtherTimes) {
  json profile = example();
  json& lock = profile["locks"][0];
  lock.erase("times_ns");
  lock["waits_ns"] = 100, lock["aborted_ns"] = 30;
  const auto lost = [&] { return lost_ns(profile_from_json(profile).locks[0]); };
  EXPECT_EQ(lost(), 130);
  profile["exact"] = true;  // the wait has the attempts in it
  EXPECT_EQ(lost(), 100);
}

TEST(ProfileJson, NoMemberIsOfAnotherKind) {
  const json whole = example();
  for (const json& wrong : {json("x"), json(), json(json::array({1})), json({{"x", 1}})}) {
    for (const auto& [name, value] : whole.items())
      EXPECT_NE(said_of([&, &name = name](json& profile) { profile[name] = wrong; }), "") << name << wrong;
    for (const auto& [name, value] : whole["locks"][0].items()) {
      const bool is_map = name == "aborts" && wrong.is_object();
      EXPECT_EQ(said_of([&, &name = name](json& profile) { profile["locks"][0][name] = wrong; }).empty(),
                is_map)
          << name << wrong;
    }
  }
}

TEST(ProfileJson, NumbersAreCheckedBeforeTheyAreConverted) {
  EXPECT_EQ(said_of([](json& profile) { profile["cpus"] = -1; }),
            "'cpus' is no whole number up to 4294967295");
  EXPECT_EQ(said_of([](json& profile) { profile["cpus"] = 4294967296u; }),
            "'cpus' is no whole number up to 4294967295");
  EXPECT_EQ(said_of([](json& profile) { profile["cpus"] = 1.5; }),
            "'cpus' is no whole number up to 4294967295");
  EXPECT_EQ(said_of([](json& profile) { profile["samples"] = 2'000'000'000'000'000u; }),
            "'samples' is no whole number up to 1000000000000000");
  EXPECT_EQ(said_of([](json& profile) { profile["wall_ns"] = 1e300; }),
            "'wall_ns' is not between 0 and 1e+18");
  EXPECT_EQ(said_of([](json& profile) { profile["wall_ns"] = -1; }), "'wall_ns' is not between 0 and 1e+18");
  EXPECT_EQ(said_of([](json& profile) { profile["locks"][0]["aborts"]["conflict"] = -1; }),
            "'aborts' is not between 0 and 1e+18");
  EXPECT_EQ(said_of([](json& profile) { profile["frames"][0]["address"] = -1; }),
            "'address' is no whole number up to 18446744073709551615");
  EXPECT_EQ(said_of([](json& profile) { profile["frames"][0]["line"] = 4294967296u; }),
            "'line' is no whole number up to 4294967295");
}

TEST(ProfileJson, DifferencesOfRoundedSumsMayBeBelowZero) {
  json profile = example();
  profile["times_ns"]["attempt"] = -1e-9;
  EXPECT_EQ(time_in(profile_from_json(profile).times, State::kAttempt), 0);
}

TEST(ProfileJson, IndicesAreInTheirLists) {
  EXPECT_EQ(said_of([](json& profile) { profile["paths"][0]["lock"] = 1u; }),
            "a call path is at a lock that is not there");
  EXPECT_EQ(said_of([](json& profile) { profile["paths"][0]["thread"] = 1u; }),
            "a call path is of a thread that is not there");
  EXPECT_EQ(said_of([](json& profile) {
              profile["paths"][0]["frames"] = {0u, 1u};
            }),
            "a call path has a function that is not there");
  EXPECT_EQ(said_of([](json& profile) { profile["paths"][0]["frames"] = {-1}; }),
            "'frames' is no whole number up to 4294967295");
  EXPECT_EQ(said_of([](json& profile) { profile["paths"][0]["state"] = "asleep"; }),
            "'state' is no name of a state");
}

TEST(Bounds, HoldForEveryNumber) {
  EXPECT_TRUE(is_within_bounds(profile_from_json(example())));
  const json whole = example();
  const auto exceeds = [&](auto change) {
    Profile profile = profile_from_json(whole);
    change(profile);
    return !is_within_bounds(profile);
  };
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.wall_ns = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.samples = 2'000'000'000'000'000; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.times[3] = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.locks[0].commits = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.locks[0].aborts["conflict"] = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.locks[0].conflicts[0].counts.apart = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.locks[0].line_waits[0].ns = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.threads[0].aborts = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.paths[0].samples = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.abort_events->commits = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.abort_events->by_cause["conflict"] = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.abort_events->rows[0].cycles = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.access_events->loads = 2e18; }));
  EXPECT_TRUE(exceeds([](Profile& profile) { profile.access_events->rows[0].apart = 2e18; }));
}

}  // namespace
}  // namespace elision::profile
