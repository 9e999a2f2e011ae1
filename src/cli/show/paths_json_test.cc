// SPDX-License-Identifier: Apache-2.0
#include "cli/show/paths_json.h"

#include <gtest/gtest.h>

namespace elision::cli {
namespace {

using nlohmann::json;
using profile::Path;
using profile::State;

/// main calls insert, which calls lock; a third path has no functions.
profile::Profile with_paths() {
  profile::Profile profile;
  profile.samples = 40;
  profile::time_in(profile.times, State::kOutside) = 3000;
  profile::time_in(profile.times, State::kWaiting) = 1000;
  profile.locks.resize(2);
  profile.locks[0].place = {0x10, "table_lock"};
  profile.locks[1].place = {0x80, ""};
  profile.threads = {{7, "worker", 30, 4}, {8, "", 1, 0}};
  profile.frames = {{1, "main", "main.c", 12}, {2, "insert", "table.c", 40}, {0x40a3, ""}};
  profile.paths = {{State::kWaiting, 1, 0, {0, 1, 2}, 900, 9},
                   {State::kOutside, Path::kNoLock, 1, {0, 1}, 500, 5},
                   {State::kBlocked, Path::kNoLock, 1, {}, 100, 1}};
  profile.paths_lost = 3;
  return profile;
}

TEST(CallPathsJson, IsColumnsWithCommonCallersOnce) {
  EXPECT_EQ(call_paths_json(with_paths()), json::parse(R"({
    "states": ["outside", "section", "attempt", "aborted", "fallback", "waiting", "speculating", "overhead",
               "blocked"],
    "locks": ["table_lock", "the lock at 0x80"],
    "frames": [{"name": "main", "file": "main.c", "line": 12}, {"name": "insert", "file": "table.c", "line": 40},
               {"name": "0x40a3"}],
    "stacks": {"caller": [-1, 0, 1], "frame": [0, 1, 2]},
    "paths": {"state": [5, 0, 8], "lock": [1, -1, -1], "thread": [0, 1, 1], "stack": [2, 1, -1],
              "ns": [900.0, 500.0, 100.0], "samples": [9.0, 5.0, 1.0]},
    "lost": 3.0})"));
}

TEST(CallPathsJson, SameFunctionUnderOtherCallersIsAnotherStack) {
  profile::Profile profile = with_paths();
  profile.paths = {{State::kOutside, Path::kNoLock, 0, {0, 2}, 1, 1},
                   {State::kOutside, Path::kNoLock, 0, {1, 2}, 1, 1},
                   {State::kOutside, Path::kNoLock, 0, {2, 2, 2}, 1, 1}};
  const json stacks = call_paths_json(profile)["stacks"];
  EXPECT_EQ(stacks["caller"], json({-1, 0, -1, 2, -1, 4, 5}));
  EXPECT_EQ(stacks["frame"], json({0, 2, 1, 2, 2, 2, 2}));
}

TEST(CallPathsJson, WithoutPathsIsNull) { EXPECT_TRUE(call_paths_json({}).is_null()); }

TEST(AbortPathsJson, HasCausesAndTheFrameOfTheTransaction) {
  const profile::Place begin{0x10, "work", "main.c", 30}, push{0x40, "push", "queue.c", 12};
  profile::Profile profile;
  EXPECT_TRUE(abort_paths_json(profile).is_null());
  profile::AbortEvents& events = profile.abort_events.emplace();
  EXPECT_TRUE(abort_paths_json(profile).is_null());
  events.cycles = 700;
  events.rows = {{push, "conflict", {begin}, {}, 10, 20, 500}, {push, "capacity", {begin}, {}, 4, 8, 200}};
  EXPECT_EQ(abort_paths_json(profile), json::parse(R"~({
    "causes": ["conflict", "capacity"], "unit": "cycles",
    "frames": [{"name": "work", "file": "main.c", "line": 30}, {"name": "[in a transaction]"},
               {"name": "push", "file": "queue.c", "line": 12}],
    "stacks": {"caller": [-1, 0, 1], "frame": [0, 1, 2]},
    "paths": {"cause": [0, 1], "stack": [2, 2], "weight": [500.0, 200.0], "samples": [10.0, 4.0]}})~"));
}

TEST(ThreadsJson, HasEveryField) {
  EXPECT_EQ(threads_json(with_paths()), json::parse(R"([
    {"id": 7, "name": "worker", "commits": 30.0, "aborts": 4.0}, {"id": 8, "commits": 1.0, "aborts": 0.0}])"));
}

TEST(TimeIntervalsJson, IsOfSharesAndSamples) {
  const json intervals = time_intervals_json(with_paths());
  EXPECT_EQ(intervals.size(), profile::kStates);
  const json& waiting = intervals["waiting"];  // 10 of 40, as scipy 1.10 has it
  EXPECT_NEAR(waiting["low"].get<double>(), 0.141871, 1e-6);
  EXPECT_NEAR(waiting["high"].get<double>(), 0.401940, 1e-6);
  EXPECT_EQ(waiting["confidence"], 0.95);
}

TEST(TimeIntervalsJson, ExactProfileHasNone) {
  profile::Profile profile = with_paths();
  profile.exact = true;
  EXPECT_TRUE(time_intervals_json(profile).is_null());
  EXPECT_TRUE(time_intervals_json({}).is_null());
}

}  // namespace
}  // namespace elision::cli
