// SPDX-License-Identifier: Apache-2.0
#include "profile/call_paths.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>

namespace elision::profile {
namespace {

std::string own_memory_map() {
  std::ifstream stream("/proc/self/maps");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::uint64_t address_of(const void* place) { return reinterpret_cast<std::uint64_t>(place); }

/// The place of a call to it, as an unwinder finds it.
[[gnu::noinline]] std::uint64_t place_of_call() { return address_of(__builtin_return_address(0)) - 1; }

[[gnu::always_inline]] inline std::uint64_t merged() {
  const std::uint64_t place = place_of_call();
  asm volatile("");
  return place;
}
[[gnu::noinline]] std::uint64_t outer() {
  const std::uint64_t place = merged();
  asm volatile("");
  return place;
}
[[gnu::noinline]] std::uint64_t other_merged() {
  const std::uint64_t place = merged();
  asm volatile("" : : : "memory");
  return place;
}

constexpr std::uint64_t kLock = 0x1000, kNewLock = 0x2000;

TEST(CallPaths, SamplesOfOnePathAreAdded) {
  CallPaths paths;
  paths.add(State::kSection, kLock, 7, {3, 2, 1}, 10);
  paths.add(State::kSection, kLock, 7, {3, 2, 1}, 5);
  paths.add(State::kWaiting, kLock, 7, {3, 2, 1}, 1);
  paths.add(State::kSection, kLock, 8, {3, 2, 1}, 2);
  paths.add(State::kSection, 0, 7, {3, 2, 1}, 3);
  Profile profile;
  paths.add_to(profile);
  EXPECT_EQ(paths.samples(), 5u);
  ASSERT_EQ(profile.paths.size(), 4u);
  const Path& most = profile.paths.front();
  EXPECT_EQ(most.ns, 15);
  EXPECT_EQ(most.samples, 2);
  EXPECT_EQ(profile.threads[most.thread].id, 7u);
  EXPECT_EQ(profile.locks[most.lock].place.address, kLock);
  std::vector<std::uint64_t> addresses;
  for (const std::uint32_t frame : most.frames) addresses.push_back(profile.frames[frame].address);
  EXPECT_EQ(addresses, (std::vector<std::uint64_t>{1, 2, 3})) << "the outermost first";
  EXPECT_EQ(profile.frames.size(), 3u);
}

TEST(CallPaths, LocksAreThoseOfTheProfile) {
  Profile profile;
  profile.locks.resize(2);
  profile.locks[1].place.address = kLock;
  CallPaths paths;
  paths.add(State::kSection, kLock, 1, {1}, 2);
  paths.add(State::kSection, kNewLock, 1, {1}, 1);
  paths.add_to(profile);
  EXPECT_EQ(profile.paths[0].lock, 1u);
  ASSERT_EQ(profile.locks.size(), 3u);
  EXPECT_EQ(profile.locks[profile.paths[1].lock].place.address, kNewLock);
}

TEST(CallPaths, TimesInOtherUnitsAreScaled) {
  CallPaths ns, ticks;
  ns.add(State::kSection, kLock, 1, {1}, 10);
  ticks.add(State::kSection, kLock, 1, {1}, 30);
  ticks.add(State::kWaiting, kLock, 1, {1}, 60);
  ns.add_scaled(ticks, 0.5);
  Profile profile;
  ns.add_to(profile);
  EXPECT_EQ(ns.samples(), 3u);
  EXPECT_EQ(profile.paths[0].ns, 30);
  EXPECT_EQ(profile.paths[1].ns, 25);
  EXPECT_EQ(profile.paths[1].samples, 2);
}

TEST(CallPaths, TooManyKeepTheirTimeWithoutCalls) {
  CallPaths paths;
  const std::uint64_t end = CallPaths::kMostPaths + 10;
  for (std::uint64_t place = 1; place <= end; ++place) paths.add(State::kSection, kLock, 7, {place, 1}, 1);
  paths.add(State::kSection, kLock, 7, {1, 1}, 1);
  CallPaths all;
  all.add_scaled(paths, 2);
  for (const CallPaths* some : {&paths, &all}) {
    Profile profile;
    some->add_to(profile);
    EXPECT_EQ(profile.paths.size(), CallPaths::kMostPaths + 1);
    EXPECT_TRUE(profile.paths[0].frames.empty());
    const double ns = some == &all ? 2 : 1;
    EXPECT_EQ(profile.paths[0].ns, 10 * ns);
    EXPECT_EQ(profile.paths[0].samples, 10);
    EXPECT_EQ(profile.paths[1].ns, 2 * ns) << "a path that is known goes on";
    EXPECT_EQ(some->samples(), end + 1);
  }
}

TEST(CallPaths, OfTooManyLocksCountForNone) {
  CallPaths paths;
  for (std::uint64_t lock = 1; lock <= 3 * CallPaths::kMostPaths; ++lock)
    paths.add(State::kSection, lock, 7, {lock}, 1);
  Profile profile;
  paths.add_to(profile);
  EXPECT_EQ(profile.paths.size(), 2 * CallPaths::kMostPaths + 1);
  EXPECT_EQ(profile.paths[0].lock, Path::kNoLock);
  EXPECT_EQ(profile.paths[0].samples, CallPaths::kMostPaths);
}

TEST(CallPaths, FollowLocksToTheirOrder) {
  Profile profile;
  for (const double ns : {1.0, 3.0, 2.0}) profile.locks.emplace_back().waits_ns = ns;
  profile.paths.push_back({State::kWaiting, 0});
  profile.paths.push_back({State::kWaiting, 1});
  profile.paths.push_back({State::kOutside});
  order_locks(profile, [](const Lock& a, const Lock& b) { return a.waits_ns > b.waits_ns; });
  EXPECT_EQ(profile.locks[profile.paths[0].lock].waits_ns, 1);
  EXPECT_EQ(profile.locks[profile.paths[1].lock].waits_ns, 3);
  EXPECT_EQ(profile.locks.front().waits_ns, 3);
  EXPECT_EQ(profile.paths[2].lock, Path::kNoLock);
}

TEST(CallPaths, FramesBecomeFunctionsAndMergedOnes) {
  const Names names(own_memory_map());
  Profile profile;
  profile.threads.resize(1);
  profile.frames = {{outer()}, {other_merged()}, {0x10}};
  for (const std::uint32_t frame : {0u, 1u, 2u})
    profile.paths.push_back({State::kSection, Path::kNoLock, 0, {frame}, 1, 1});
  name_frames(profile, names);
  ASSERT_EQ(profile.paths.size(), 3u);
  std::vector<std::string> chains;
  for (const Path& path : profile.paths) {
    std::string chain;
    for (const std::uint32_t frame : path.frames) chain += profile.frames[frame].name + ";";
    chains.push_back(chain);
  }
  std::sort(chains.begin(), chains.end());
  EXPECT_EQ(chains[0], ";") << "nothing is mapped there";
  EXPECT_NE(chains[1].find("other_merged();"), std::string::npos) << chains[1];
  EXPECT_TRUE(chains[1].ends_with("merged();"));
  EXPECT_NE(chains[2].find("outer();"), std::string::npos) << chains[2];
  EXPECT_TRUE(chains[2].ends_with("merged();"));
}

TEST(CallPaths, CodeWithoutANameIsKnownByItsAddress) {
  const Names names(own_memory_map());
  Profile profile;
  profile.threads.resize(1);
  profile.frames = {{0x10}, {0x20}, {0x10}};
  for (const std::uint32_t frame : {0u, 1u, 2u})
    profile.paths.push_back({State::kSection, Path::kNoLock, 0, {frame}, 1, 1});
  name_frames(profile, names);
  ASSERT_EQ(profile.frames.size(), 2u);
  EXPECT_EQ(profile.paths.size(), 2u);
  EXPECT_EQ(profile.frames[profile.paths[0].frames[0]].address, 0x10u);
  EXPECT_EQ(profile.frames[profile.paths[1].frames[0]].address, 0x20u);
}

TEST(CallPaths, PathsThatBecomeEqualAreJoined) {
  const Names names(own_memory_map());
  Profile profile;
  profile.threads.resize(1);
  profile.frames = {{address_of(reinterpret_cast<const void*>(&outer))},
                    {address_of(reinterpret_cast<const void*>(&outer))}};
  for (const std::uint32_t frame : {0u, 1u})
    profile.paths.push_back({State::kSection, Path::kNoLock, 0, {frame}, 4, 2});
  name_frames(profile, names);
  ASSERT_EQ(profile.paths.size(), 1u);
  EXPECT_EQ(profile.paths.front().ns, 8);
  EXPECT_EQ(profile.paths.front().samples, 4);
}

}  // namespace
}  // namespace elision::profile
