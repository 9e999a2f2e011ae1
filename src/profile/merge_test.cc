// SPDX-License-Identifier: Apache-2.0
#include "profile/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/property_for_test.h"
#include "profile/profile_json.h"
#include "profile/random_profile_for_test.h"

namespace elision::profile {
namespace {

/// All that a profile says, in an order of its own, with names in place of indices.
std::vector<std::string> content_of(const Profile& profile) {
  std::vector<std::string> lines = {profile_json_without_lists(profile).dump()};
  std::map<std::string, std::vector<std::string>> lists;
  visit_entries(profile, [&lists](const std::string& name, std::size_t size, const EntryJson& entry) {
    for (std::size_t i = 0; i < size; ++i) lists[name].push_back(entry(i).dump());
  });
  for (const char* const name : {"locks", "threads", "frames"})
    lines.insert(lines.end(), lists[name].begin(), lists[name].end());
  for (const Path& path : profile.paths) {
    std::string line = std::to_string(path.ns) + " " + std::to_string(path.samples) + " " +
                       kStateNames[static_cast<std::size_t>(path.state)] + lists["threads"][path.thread];
    if (path.lock != Path::kNoLock) line += lists["locks"][path.lock];
    for (const std::uint32_t frame : path.frames) line += lists["frames"][frame];
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// What one of two profiles says and the other does not, at first; empty: nothing.
std::string difference(const Profile& a, const Profile& b) {
  const std::vector<std::string> in_a = content_of(a), in_b = content_of(b);
  const auto [one, other] = std::mismatch(in_a.begin(), in_a.end(), in_b.begin(), in_b.end());
  if (one == in_a.end() && other == in_b.end()) return "";
  return (one != in_a.end() ? *one : "nothing") + "\nagainst\n" + (other != in_b.end() ? *other : "nothing");
}

template <class Entry, class Amount>
double sum_over(const std::vector<Entry>& entries, Amount amount) {
  return std::accumulate(entries.begin(), entries.end(), 0.0,
                         [&](double sum, const Entry& entry) { return sum + amount(entry); });
}

/// Numbers of a profile that add up.
std::vector<double> sums_of(const Profile& profile) {
  std::vector<double> sums(profile.times.begin(), profile.times.end());
  sums.insert(sums.end(), {profile.wall_ns, profile.parallel_ns, static_cast<double>(profile.samples),
                           profile.interrupted, profile.paths_lost});
  for (const auto member :
       {&Lock::acquisitions, &Lock::contended, &Lock::waits_ns, &Lock::holds_ns, &Lock::aborted_ns,
        &Lock::attempts, &Lock::commits, &Lock::fallbacks, &Lock::system_calls, &Lock::line_waits_ns})
    sums.push_back(sum_over(profile.locks, [member](const Lock& lock) { return lock.*member; }));
  const AccessEvents accesses = profile.access_events.value_or(AccessEvents{});
  for (const auto member :
       {&AccessEvents::loads, &AccessEvents::stores, &AccessEvents::unknown, &AccessEvents::lost,
        &AccessEvents::throttled, &AccessEvents::shared, &AccessEvents::apart})
    sums.push_back(accesses.*member);
  sums.push_back(sum_over(accesses.rows, [](const SharedData& row) { return row.samples; }));
  for (std::size_t i = 0; i < kStates; ++i)
    sums.push_back(sum_over(profile.locks, [i](const Lock& lock) { return lock.times[i]; }));
  sums.push_back(sum_over(profile.locks, [](const Lock& lock) {
    return sum_over(lock.conflicts, [](const Conflict& conflict) { return conflict.counts.count; });
  }));
  sums.push_back(sum_over(profile.locks, [](const Lock& lock) {
    return sum_over(lock.line_waits, [](const LineWait& wait) { return wait.ns; });
  }));
  sums.push_back(sum_over(profile.locks, [](const Lock& lock) {
    return lock.aborts.contains("conflict") ? lock.aborts.at("conflict") : 0;
  }));
  sums.push_back(sum_over(profile.threads, [](const Thread& thread) { return thread.commits; }));
  for (std::size_t i = 0; i < kStates; ++i)
    for (const auto member : {&Path::ns, &Path::samples})
      sums.push_back(sum_over(profile.paths, [=](const Path& path) {
        return path.state == static_cast<State>(i) ? path.*member : 0;
      }));
  const AbortEvents events = profile.abort_events.value_or(AbortEvents{});
  sums.insert(sums.end(), {events.aborts, events.commits, events.samples, events.sampled_aborts, events.lost,
                           events.cycles, events.counted_cycles,
                           events.by_cause.contains("conflict") ? events.by_cause.at("conflict") : 0});
  for (const auto member : {&AbortRow::samples, &AbortRow::aborts, &AbortRow::cycles})
    sums.push_back(sum_over(events.rows, [member](const AbortRow& row) { return row.*member; }));
  return sums;
}

TEST(Merged, KeepsSums) {
  check_property(200, [] {
    const std::vector<Profile> profiles = random_profiles(3);
    std::vector<double> sums(sums_of({}).size());
    for (const Profile& profile : profiles) {
      const std::vector<double> more = sums_of(profile);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
    }
    RC_ASSERT(sums_of(merged(profiles)) == sums);
  });
}

TEST(Merged, OrderOfProfilesDoesNotMatter) {
  check_property(200, [] {
    const std::vector<Profile> p = random_profiles(3);
    RC_ASSERT(difference(merged({p[0], p[1], p[2]}), merged({p[2], p[0], p[1]})) == "");
    RC_ASSERT(difference(merged({p[0], p[1]}), merged({p[1], p[0]})) == "");
  });
}

TEST(Merged, AMergeOfMergesIsTheMergeOfAll) {
  check_property(200, [] {
    const std::vector<Profile> p = random_profiles(4);
    const Profile all = merged({p[0], p[1], p[2], p[3]});
    RC_ASSERT(difference(merged({merged({p[0], p[1]}), p[2], p[3]}), all) == "");
    RC_ASSERT(difference(merged({p[0], merged({p[1], merged({p[2], p[3]})})}), all) == "");
  });
}

TEST(Merged, OneIsItself) {
  check_property(100, [] {
    const Profile profile = random_profiles(1).front();
    RC_ASSERT(profile_json(merged({profile})) == profile_json(profile));
  });
}

TEST(Merged, TheResultCanBeReadAgain) {
  check_property(100, [] {
    const auto text = profile_json(merged(random_profiles(3))).dump();
    RC_ASSERT(profile_json(profile_from_json(nlohmann::json::parse(text))).dump() == text);
  });
}

Lock lock_with(const Place& place, const Place& site, double waits_ns) {
  Lock lock;
  lock.place = place;
  lock.site = site;
  lock.waits_ns = time_in(lock.times, State::kWaiting) = waits_ns;
  return lock;
}

std::vector<double> waits_in(const Profile& profile) {
  std::vector<double> waits;
  for (const Lock& lock : profile.locks) waits.push_back(lock.waits_ns);
  return waits;
}

TEST(Merged, LocksAreMatchedByNameThenByCallSite) {
  Profile a, b;
  a.locks = {lock_with({64, "hot"}, {1, "push"}, 100), lock_with({128}, {2, "pop", "q.c", 7}, 10),
             lock_with({256}, {}, 5)};
  b.locks = {lock_with({96, "hot"}, {3, "pop"}, 1), lock_with({64}, {9, "pop", "q.c", 7}, 20),
             lock_with({128}, {2, "pop", "q.c", 8}, 40), lock_with({256}, {}, 3)};
  EXPECT_EQ(waits_in(merged({a, b})), (std::vector<double>{101, 40, 30, 8}));
}

TEST(Merged, LocksOfOneProcessWithOneCallSiteStayApart) {
  Profile a, b;
  const Place site{1, "push"};
  a.locks = {lock_with({64}, site, 100), lock_with({128}, site, 10)};
  b.locks = {lock_with({640}, site, 50), lock_with({1280}, site, 200), lock_with({1920}, site, 1)};
  const Profile sum = merged({a, b});
  EXPECT_EQ(waits_in(sum), (std::vector<double>{300, 60, 1}));
}

TEST(Merged, LocksOfPathsAndLocksInsideFollowTheirLock) {
  Profile a, b;
  a.locks = {lock_with({64, "outer"}, {}, 1), lock_with({128, "inner"}, {}, 5)};
  a.locks[0].inside = 128;
  a.locks[0].waits_inside_ns = 4;
  b.locks = {lock_with({640, "inner"}, {}, 5), lock_with({320, "outer"}, {}, 90)};
  b.locks[1].inside = 640;
  b.locks[1].waits_inside_ns = 3;
  for (Profile* const profile : {&a, &b}) profile->threads = {{7, "main"}};
  a.paths = {{State::kWaiting, 1, 0, {}, 5, 1}};
  b.paths = {{State::kWaiting, 0, 0, {}, 6, 1}};
  const Profile sum = merged({a, b});
  ASSERT_EQ(sum.locks.size(), 2u);
  EXPECT_EQ(sum.locks[0].place.name, "outer");
  EXPECT_EQ(sum.locks[0].waits_inside_ns, 7);
  EXPECT_EQ(sum.locks[0].inside, sum.locks[1].place.address);
  for (const Path& path : sum.paths) EXPECT_EQ(sum.locks[path.lock].place.name, "inner");
}

TEST(Merged, CallPathsThatDifferInAddressesAloneAreOne) {
  Profile a, b;
  a.threads = b.threads = {{1, "main"}};
  a.frames = {{0x10, "main", "m.c", 3}, {0x20, "work", "m.c", 9}, {0x30, "work", "m.c", 9}};
  b.frames = {{0x90, "work", "m.c", 9}, {0x80, "main", "m.c", 3}};
  a.paths = {{State::kSection, Path::kNoLock, 0, {0, 1}, 5, 1},
             {State::kSection, Path::kNoLock, 0, {0, 2}, 6, 2}};
  b.paths = {{State::kSection, Path::kNoLock, 0, {1, 0}, 9, 3}};
  const Profile sum = merged({a, b});
  EXPECT_EQ(sum.frames.size(), 2u);
  ASSERT_EQ(sum.paths.size(), 2u) << "one a process, since threads are apart";
  EXPECT_EQ(sum.paths[0].ns, 11);
  EXPECT_EQ(sum.paths[0].samples, 3);
  EXPECT_EQ(sum.paths[1].ns, 9);
  EXPECT_EQ(sum.paths[0].frames, sum.paths[1].frames);
}

TEST(Merged, ThreadsAndCpusAreThoseOfTheProcessWithMost) {
  Profile a, b;
  a.most_threads = 3, a.cpus = 8, b.most_threads = 2, b.cpus = 4;
  for (const Profile& sum : {merged({a, b}), merged({b, a})}) {
    EXPECT_EQ(sum.most_threads, 3u);
    EXPECT_EQ(sum.cpus, 8u);
  }
}

TEST(NameThreads, NamesTheProcessToo) {
  Profile profile;
  profile.threads = {{1, "main"}, {2, ""}};
  name_threads_by("rank0", profile);
  EXPECT_EQ(profile.threads[0].name, "rank0: main");
  EXPECT_EQ(profile.threads[1].name, "rank0");
}

}  // namespace
}  // namespace elision::profile
