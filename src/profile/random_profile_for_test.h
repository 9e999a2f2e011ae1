// SPDX-License-Identifier: Apache-2.0
// Profiles with random content, for properties. All numbers are whole, so that sums do not depend on their
// order.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "profile/profile.h"

namespace elision::profile {

class RandomProfile {
 public:
  explicit RandomProfile(std::uint64_t seed) : random_(seed) {}

  /// From samples, unless `exact`. Few names, so that most of them are in every profile. Addresses differ
  /// from profile to profile.
  Profile draw(bool exact = false) {
    base_ = 0x1000 * (1 + random_.below(1u << 30));
    Profile profile;
    profile.exact = exact;
    profile.samples = exact ? 0 : 200 + random_.below(5000);
    profile.wall_ns = number();
    profile.parallel_ns = number();
    profile.most_threads = static_cast<std::uint32_t>(random_.below(9));
    profile.cpus = static_cast<std::uint32_t>(random_.below(9));
    profile.interrupted = number();
    profile.paths_lost = number();
    if (random_.below(2) != 0) profile.paths_missing = "reason " + std::to_string(random_.below(3));
    for (double& time : profile.times) time = number();
    for (std::size_t i = random_.below(6); i > 0; --i) profile.locks.push_back(lock(base_ + 64 * i));
    for (const Lock& lock : profile.locks)
      for (std::size_t i = 0; i < kStates; ++i) profile.times[i] += lock.times[i];
    for (std::size_t i = 1 + random_.below(3); i > 0; --i) profile.threads.push_back(thread());
    for (std::uint64_t i = 0; i < 1 + random_.below(6); ++i) profile.frames.push_back(place("f", i));
    for (std::size_t i = random_.below(8); i > 0; --i) profile.paths.push_back(path(profile));
    if (random_.below(2) != 0) profile.abort_events = abort_events();
    if (random_.below(2) != 0) profile.access_events = access_events();
    return profile;
  }

 private:
  double number() { return static_cast<double>(random_.below(1000)); }

  Place place(const std::string& kind, std::uint64_t number) {
    if (random_.below(8) == 0) return {base_ + 8 * number};
    return {base_ + 8 * number, kind + std::to_string(number), "x.c", static_cast<std::uint32_t>(number)};
  }
  Place any_place(const std::string& kind) { return place(kind, random_.below(4)); }

  /// It is the lock that threads wait for inside of it: a profile knows no other one than that with most
  /// time.
  Lock lock(std::uint64_t address) {
    Lock result;
    result.place.address = result.inside = address;
    result.waits_inside_ns = 1 + number();
    if (random_.below(2) == 0) result.place.name = "lock" + std::to_string(random_.below(3));
    if (random_.below(4) != 0) result.site = any_place("site");
    if (random_.below(2) == 0) result.callers = {any_place("caller")};
    for (std::size_t i = random_.below(3); i > 0; --i) result.other_sites.push_back(any_place("site"));
    for (const auto member : {&Lock::acquisitions, &Lock::contended, &Lock::waits_ns, &Lock::longest_wait_ns,
                              &Lock::holds_ns, &Lock::aborted_ns, &Lock::attempts, &Lock::commits,
                              &Lock::fallbacks, &Lock::system_calls, &Lock::line_waits_ns})
      result.*member = number();
    for (double& time : result.times) time = number();
    for (const char* const cause : {"conflict", "capacity"})
      if (random_.below(2) == 0) result.aborts[cause] = number();
    for (std::size_t i = random_.below(3); i > 0; --i)
      result.conflicts.push_back({any_place("data"), any_place("code"), any_place("code"), {number()}});
    for (std::size_t i = random_.below(3); i > 0; --i)
      result.line_waits.push_back({any_place("data"), any_place("code"), number()});
    return result;
  }

  AbortEvents abort_events() {
    AbortEvents events;
    if (random_.below(4) == 0) events.missing = "reason " + std::to_string(random_.below(3));
    for (const auto member :
         {&AbortEvents::aborts, &AbortEvents::commits, &AbortEvents::samples, &AbortEvents::sampled_aborts,
          &AbortEvents::lost, &AbortEvents::with_branches, &AbortEvents::whole_paths, &AbortEvents::cycles,
          &AbortEvents::equal_samples, &AbortEvents::counted_cycles})
      events.*member = number();
    events.period = random_.below(2) == 0 ? 7 : 0;
    events.running = random_.below(2) == 0 ? 0.5 : 1;
    for (const char* const cause : {"conflict", "interrupt"}) {
      events.by_cause[cause] = number();
      events.rows.push_back(
          {any_place("code"), cause, {any_place("caller")}, {}, number(), number(), number()});
      if (random_.below(2) == 0) events.rows.back().inside = {any_place("call")};
    }
    return events;
  }

  AccessEvents access_events() {
    AccessEvents events;
    events.period = random_.below(2) == 0 ? 7 : 0;
    for (const auto member :
         {&AccessEvents::loads, &AccessEvents::stores, &AccessEvents::unknown, &AccessEvents::lost,
          &AccessEvents::throttled, &AccessEvents::shared, &AccessEvents::apart})
      events.*member = number();
    for (std::size_t i = random_.below(3); i > 0; --i)
      events.rows.push_back({any_place("data"), any_place("code"), any_place("code"), random_.below(2) == 0,
                             random_.below(2) == 0, number(), number(), 1 + random_.below(3)});
    return events;
  }

  Thread thread() { return {static_cast<std::uint32_t>(random_.below(100)), "worker", number(), number()}; }

  Path path(const Profile& profile) {
    Path result;
    result.state = static_cast<State>(random_.below(kStates));
    if (!profile.locks.empty() && random_.below(2) == 0)
      result.lock = static_cast<std::uint32_t>(random_.below(profile.locks.size()));
    result.thread = static_cast<std::uint32_t>(random_.below(profile.threads.size()));
    for (std::size_t i = random_.below(4); i > 0; --i)
      result.frames.push_back(static_cast<std::uint32_t>(random_.below(profile.frames.size())));
    result.ns = number();
    result.samples = number();
    return result;
  }

  elision::Random random_;
  std::uint64_t base_ = 0;
};

/// For rc::check: `count` random profiles.
inline std::vector<Profile> random_profiles(std::size_t count, bool exact = false) {
  std::vector<Profile> profiles;
  for (std::size_t i = 0; i < count; ++i)
    profiles.push_back(RandomProfile(*rc::gen::arbitrary<std::uint64_t>()).draw(exact));
  return profiles;
}

}  // namespace elision::profile
