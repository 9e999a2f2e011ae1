// SPDX-License-Identifier: Apache-2.0
#include "profile/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "profile/analysis.h"
#include "profile/lock_sums.h"
#include "profile/share_interval.h"

namespace elision::profile {
namespace {

/// Of several states, one differs beyond its interval more easily than one that was chosen before. For nine,
/// intervals of 99.4 % (2.77 standard deviations) make up for it.
constexpr double kWiderForAnyState = 2.77 / kShareDeviations;
/// Smaller differences are not worth a sentence.
constexpr double kSmallestDifference = 0.005;
constexpr double kMostOfIt = 0.5;

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// A whole that shares are of, and the samples that it is known from; 0: it is exact.
struct Whole {
  double ns = 0, samples = 0;
};

Whole threads_time(const Profile& profile, State state) {
  return {profile.thread_ns(), profile.samples_of(state)};
}

/// For parts of any state: they are as sure as the state that is least.
Whole threads_time(const Profile& profile) {
  Whole least = threads_time(profile, State::kOutside);
  for (std::size_t i = 0; i < kStates; ++i)
    least.samples = std::min(least.samples, profile.samples_of(static_cast<State>(i)));
  return least;
}

Whole paths_time(const Profile& profile) {
  Whole whole;
  for (const Path& path : profile.paths) whole.ns += path.ns, whole.samples += path.samples;
  return whole;
}

/// The interval of a share; without samples it is exact.
Bounds interval_of(double share, double samples) {
  return samples > 0 ? interval_of_share(share, samples) : Bounds{share, share};
}

/// The interval of the difference of two shares.
std::optional<Bounds> bounds_of(double a, double b, double samples_a, double samples_b) {
  if (samples_a <= 0 && samples_b <= 0) return std::nullopt;
  return bounds_of_difference(a, interval_of(a, samples_a), b, interval_of(b, samples_b));
}

/// Both runs' wholes.
struct Wholes {
  Whole a, b;

  ShareChange change(double ns_a, double ns_b) const {
    ShareChange result{share(ns_a, a.ns), share(ns_b, b.ns)};
    result.bounds = bounds_of(result.a, result.b, a.samples, b.samples);
    return result;
  }

  StateChanges changes(const StateTimes& of_a, const StateTimes& of_b) const {
    StateChanges result;
    for (std::size_t i = 0; i < kStates; ++i) result[i] = change(of_a[i], of_b[i]);
    return result;
  }
};

double sum_of(const StateTimes& times) {
  double sum = 0;
  for (const double time : times) sum += time;
  return sum;
}

/// Locks with one name.
struct LockSum {
  Lock lock;
  std::set<std::string> sites;  // where they are taken; empty: they have a name of their own
};
using LockSums = std::map<std::string, LockSum>;

std::set<std::string> sites_of(const Lock& lock) {
  std::set<std::string> sites;
  const auto add = [&sites](const Place& site) {
    Lock there;
    there.site = site;
    if (!site.name.empty() || !site.file.empty()) sites.insert(name_of(there));
  };
  add(lock.site);
  for (const Place& site : lock.other_sites) add(site);
  return sites;
}

LockSums locks_by_name(const Profile& profile) {
  LockSums sums;
  for (const Lock& lock : profile.locks) {
    LockSum& sum = sums[name_of(lock)];
    add_numbers(sum.lock, lock);
    if (lock.place.name.empty()) sum.sites.merge(sites_of(lock));
  }
  return sums;
}

/// The change from `a` to `b`; null: the run has no such lock.
LockChange lock_change(const std::string& name, const LockSum* a, const LockSum* b, const Wholes& wholes) {
  static const LockSum kNone;
  const LockSum &in_a = a != nullptr ? *a : kNone, &in_b = b != nullptr ? *b : kNone;
  LockChange change;
  change.name = name;
  change.presence = a == nullptr ? Presence::kOnlyB : b == nullptr ? Presence::kOnlyA : Presence::kBoth;
  const StateTimes &of_a = in_a.lock.times, &of_b = in_b.lock.times;
  change.lost = wholes.change(lost_ns(of_a), lost_ns(of_b));
  change.waiting = wholes.change(waiting_ns(of_a), waiting_ns(of_b));
  change.aborted = wholes.change(time_in(of_a, State::kAborted), time_in(of_b, State::kAborted));
  change.overhead = wholes.change(time_in(of_a, State::kOverhead), time_in(of_b, State::kOverhead));
  change.acquisitions_a = in_a.lock.acquisitions;
  change.acquisitions_b = in_b.lock.acquisitions;
  return change;
}

/// Locks that only one run has by name, by the places where they are taken.
using LocksAtSites = std::map<std::string, std::vector<std::pair<std::string, const LockSum*>>>;

LocksAtSites at_sites(const LockSums& locks, const LockSums& others) {
  LocksAtSites result;
  for (const auto& [name, sum] : locks)
    if (!others.contains(name))
      for (const std::string& site : sum.sites) result[site].emplace_back(name, &sum);
  for (auto& [site, list] : result)
    std::stable_sort(list.begin(), list.end(), [](const auto& x, const auto& y) {
      return lost_ns(x.second->lock) > lost_ns(y.second->lock);
    });
  return result;
}

/// A lock without a name is called by the place where most of its time is spent, which may differ from run to
/// run. Such locks are one if they have a place in common: that with most lost time in A and that in B, and
/// so on. Which run is A does not matter.
std::map<std::string, std::string> matched_by_site(const LockSums& a, const LockSums& b) {
  LocksAtSites in_a = at_sites(a, b), in_b = at_sites(b, a);
  std::map<std::string, std::string> matches;
  std::set<std::string> matched_in_b;
  for (auto& [site, list_a] : in_a) {
    auto& list_b = in_b[site];
    std::erase_if(list_a, [&](const auto& lock) { return matches.contains(lock.first); });
    std::erase_if(list_b, [&](const auto& lock) { return matched_in_b.contains(lock.first); });
    for (std::size_t i = 0; i < std::min(list_a.size(), list_b.size()); ++i) {
      matches[list_a[i].first] = list_b[i].first;
      matched_in_b.insert(list_b[i].first);
    }
  }
  return matches;
}

std::vector<LockChange> lock_changes(const Profile& a, const Profile& b, const Wholes& wholes) {
  const LockSums in_a = locks_by_name(a), in_b = locks_by_name(b);
  const std::map<std::string, std::string> matches = matched_by_site(in_a, in_b);
  std::set<std::string> done_in_b;
  std::vector<LockChange> changes;
  for (const auto& [name, sum] : in_a) {
    const auto match = matches.find(name);
    const auto found = in_b.find(match != matches.end() ? match->second : name);
    if (found != in_b.end()) done_in_b.insert(found->first);
    changes.push_back(lock_change(found != in_b.end() ? std::min(name, found->first) : name, &sum,
                                  found != in_b.end() ? &found->second : nullptr, wholes));
  }
  for (const auto& [name, sum] : in_b)
    if (!done_in_b.contains(name)) changes.push_back(lock_change(name, nullptr, &sum, wholes));
  std::sort(changes.begin(), changes.end(), [](const LockChange& x, const LockChange& y) {
    const double of_x = std::abs(x.lost.difference()), of_y = std::abs(y.lost.difference());
    return of_x != of_y ? of_x > of_y : std::tie(x.name, x.presence) < std::tie(y.name, y.presence);
  });
  return changes;
}

std::map<std::string, double> ends_of(const Profile& profile) {
  std::map<std::string, double> ends;
  for (const Lock& lock : profile.locks) {
    ends[kCommits] += lock.commits;
    for (const auto& [cause, count] : lock.aborts) ends[cause] += count;
  }
  return ends;
}

double count_in(const std::map<std::string, double>& ends, const std::string& name) {
  const auto found = ends.find(name);
  return found != ends.end() ? found->second : 0;
}

void add_ends(const Profile& a, const Profile& b, ProfileDiff& diff) {
  const std::map<std::string, double> in_a = ends_of(a), in_b = ends_of(b);
  std::set<std::string> names;
  for (const auto* const ends : {&in_a, &in_b})
    for (const auto& [name, count] : *ends)
      if (count > 0) names.insert(name);
  for (const auto& [name, count] : in_a) diff.attempts_a += count;
  for (const auto& [name, count] : in_b) diff.attempts_b += count;
  for (const std::string& name : names) {
    const double count_a = count_in(in_a, name), count_b = count_in(in_b, name);
    diff.ends.push_back(
        {name, count_a, count_b, share(count_a, diff.attempts_a), share(count_b, diff.attempts_b)});
  }
  const auto order = [](const EndChange& end) {
    return std::pair(end.name != kCommits, -end.count_a - end.count_b);
  };
  std::stable_sort(diff.ends.begin(), diff.ends.end(),
                   [&](const EndChange& x, const EndChange& y) { return order(x) < order(y); });
}

struct FunctionTimes {
  StateTimes inclusive{}, exclusive{};
};
using FunctionSums = std::map<std::string, FunctionTimes>;

std::string function_of(const Place& frame) {
  return frame.name.empty() ? fmt::format("{:#x}", frame.address) : frame.name;
}

/// A function that calls itself counts once.
FunctionSums functions_of(const Profile& profile) {
  FunctionSums sums;
  std::vector<FunctionTimes*> by_frame;
  for (const Place& frame : profile.frames) by_frame.push_back(&sums[function_of(frame)]);
  std::vector<FunctionTimes*> in_path;
  for (const Path& path : profile.paths) {
    in_path.clear();
    for (const std::uint32_t frame : path.frames) in_path.push_back(by_frame[frame]);
    if (in_path.empty()) continue;
    time_in(in_path.back()->exclusive, path.state) += path.ns;
    std::sort(in_path.begin(), in_path.end());
    in_path.erase(std::unique(in_path.begin(), in_path.end()), in_path.end());
    for (FunctionTimes* const function : in_path) time_in(function->inclusive, path.state) += path.ns;
  }
  return sums;
}

std::vector<FunctionChange> function_changes(const Profile& a, const Profile& b) {
  const Wholes wholes{paths_time(a), paths_time(b)};
  FunctionSums in_a = functions_of(a), in_b = functions_of(b);
  for (const auto& [name, times] : in_b) in_a.try_emplace(name);
  std::vector<FunctionChange> changes;
  for (const auto& [name, of_a] : in_a) {
    const FunctionTimes& of_b = in_b[name];
    FunctionChange change;
    change.name = name;
    change.inclusive = wholes.change(sum_of(of_a.inclusive), sum_of(of_b.inclusive));
    change.exclusive = wholes.change(sum_of(of_a.exclusive), sum_of(of_b.exclusive));
    change.inclusive_states = wholes.changes(of_a.inclusive, of_b.inclusive);
    change.exclusive_states = wholes.changes(of_a.exclusive, of_b.exclusive);
    changes.push_back(std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const FunctionChange& x, const FunctionChange& y) { return x.most() > y.most(); });
  return changes;
}

std::string points(double difference) {
  const double value = 100 * std::abs(difference);
  return fmt::format("{:.{}f} points", value, value < 9.95 ? 1 : 0);
}

bool matters(const ShareChange& change) {
  return change.is_clear() && std::abs(change.difference()) >= kSmallestDifference;
}

/// Whether a state that was chosen for its change differs.
bool matters_among_states(ShareChange change) {
  if (change.bounds) {
    const double middle = change.difference();
    change.bounds->low = middle - kWiderForAnyState * (middle - change.bounds->low);
    change.bounds->high = middle + kWiderForAnyState * (change.bounds->high - middle);
  }
  return matters(change);
}

/// "between 27 and 31 points less", or "29 points less" if that is exact.
std::string how_much(const ShareChange& change) {
  const bool less = change.difference() < 0;
  const char* const word = less ? "less" : "more";
  if (!change.bounds) return fmt::format("{} {}", points(change.difference()), word);
  const double ends[] = {std::abs(change.bounds->low), std::abs(change.bounds->high)};
  return fmt::format("{:.1f} to {:.1f} points {}", 100 * std::min(ends[0], ends[1]),
                     100 * std::max(ends[0], ends[1]), word);
}

std::string at_which_lock(const ProfileDiff& diff) {
  if (diff.locks.empty()) return "";
  const LockChange& first = diff.locks.front();
  const double part = share(first.lost.difference() / diff.lost.difference(), 1);
  return part >= kMostOfIt ? fmt::format(", most of it for {}", first.name) : "";
}

/// The state that differs most; nothing: none does.
std::optional<State> state_that_differs(const ProfileDiff& diff) {
  std::optional<State> most;
  for (std::size_t i = 0; i < kStates; ++i) {
    const double least = most ? std::abs(diff.states[static_cast<std::size_t>(*most)].difference()) : 0;
    if (matters_among_states(diff.states[i]) && std::abs(diff.states[i].difference()) > least)
      most = static_cast<State>(i);
  }
  return most;
}

std::string too_short(const ProfileDiff& diff) {
  const char* const which = diff.a_is_sufficient ? "B" : diff.b_is_sufficient ? "A" : "A and B";
  return fmt::format("Too little is known of {}: it takes {} samples while two or more threads are alive.",
                     which, kFewestSamples);
}

}  // namespace

double FunctionChange::most() const {
  return std::max(std::abs(inclusive.difference()), std::abs(exclusive.difference()));
}

ProfileDiff diff(const Profile& a, const Profile& b) {
  const Wholes wholes{threads_time(a), threads_time(b)};
  ProfileDiff diff;
  diff.a_is_sufficient = is_sufficient(a);
  diff.b_is_sufficient = is_sufficient(b);
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    diff.states[i] = Wholes{threads_time(a, state), threads_time(b, state)}.change(a.times[i], b.times[i]);
  }
  diff.lost = wholes.change(lost_ns(a.times), lost_ns(b.times));
  diff.locks = lock_changes(a, b, wholes);
  add_ends(a, b, diff);
  for (const Lock& lock : a.locks) diff.fallbacks_a += lock.fallbacks;
  for (const Lock& lock : b.locks) diff.fallbacks_b += lock.fallbacks;
  diff.aborts = diff_of_aborts(a, b);
  diff.functions = function_changes(a, b);
  return diff;
}

std::string verdict_of(const ProfileDiff& diff) {
  if (!diff.a_is_sufficient || !diff.b_is_sufficient) return too_short(diff);
  const std::string in_a = percent(diff.lost.a), in_b = percent(diff.lost.b);
  if (matters(diff.lost))
    return fmt::format("B loses {} of its threads' time at locks, A {}: {}{}.", in_b, in_a,
                       how_much(diff.lost), at_which_lock(diff));
  const std::string lost = fmt::format("at locks A loses {} of its threads' time, B {}", in_a, in_b);
  if (const std::optional<State> state = state_that_differs(diff)) {
    const ShareChange& change = diff.states[static_cast<std::size_t>(*state)];
    return fmt::format("B spends {} of its threads' time {}, A {}: {}; {}, which is no difference{}.",
                       percent(change.b), kStateWords[static_cast<std::size_t>(*state)], percent(change.a),
                       how_much(change), lost, diff.lost.bounds ? " beyond the uncertainty" : "");
  }
  return fmt::format("No difference beyond {}: {}.",
                     diff.lost.bounds ? "the uncertainty" : "half a percent of the time", lost);
}

}  // namespace elision::profile
