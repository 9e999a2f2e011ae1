// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/lock_profile.h"

#include <algorithm>

#include "abi/counters_reader.h"
#include "base/units.h"
#include "profile/call_paths.h"
#include "profile/conflicts.h"
#include "profile/names.h"
#include "profile/profile_json.h"

namespace elision::cli::experiment {
namespace {

using profile::Lock;
using profile::Profile;
using profile::State;

double in_state(const std::map<State, std::uint64_t>& states, State state) {
  const auto found = states.find(state);
  return found != states.end() ? static_cast<double>(found->second) : 0;
}

/// Attempts that ended: each speculation ended in one of the aborts.
double attempts_of(const abi::CounterEntry& counts) {
  double aborts = 0;
  for (const std::uint64_t count : counts.aborts) aborts += static_cast<double>(count);
  return static_cast<double>(counts.commits) +
         std::max(0.0, aborts - static_cast<double>(counts.speculations));
}

/// The part of a lock's attempts that aborted. For locks without counts of their own it is that of all locks
/// that found no place in the table. Locks of libelision-api are not counted: theirs is 0 unless that table
/// was full.
double aborted_share(const LockCountsByAddress& counts, std::uint64_t lock) {
  auto found = counts.find(lock);
  if (found == counts.end()) found = counts.find(0);
  const double attempts = found != counts.end() ? attempts_of(found->second) : 0;
  return attempts != 0 ? 1 - static_cast<double>(found->second.commits) / attempts : 0;
}

/// Code in a conflict. The library's own lines mean nothing to users.
profile::Place code_in_conflict(const profile::Names& names, std::uint64_t address) {
  if (address == 0) return {0, "an unknown access"};
  if (names.is_in_lock_library(address)) return {address, "a lock operation"};
  return names.code(address);
}

using Known = profile::Names::Known;

/// Conflicts with an access that is not known, or with a prefetch, may have the address of the line.
Known known_of(const profile::Conflict& conflict) {
  const bool is_line = conflict.data.address % kLineBytes == 0 &&
                       conflict.counts.unknown + conflict.counts.prefetched >= conflict.counts.count;
  return is_line ? Known::kLine : Known::kAddress;
}

/// The call site becomes the innermost call outside of functions that take locks for others, if there is one.
void skip_wrappers(Lock& lock) {
  if (!profile::is_lock_wrapper(lock.site.name)) return;
  const auto user = std::find_if(lock.callers.begin(), lock.callers.end(), [](const profile::Place& caller) {
    return !caller.name.empty() && !profile::is_lock_wrapper(caller.name);
  });
  if (user != lock.callers.end()) lock.site = *user;
}

bool look_alike(const profile::Place& a, const profile::Place& b) {
  return a.name == b.name && a.file == b.file && a.line == b.line;
}

/// Leaves out functions that take locks for others, whose callers are not known, and lines that are there.
void keep_other_sites_of_users(Lock& lock) {
  std::vector<profile::Place> sites;
  for (const profile::Place& site : lock.other_sites) {
    const auto is_it = [&site](const profile::Place& other) { return look_alike(site, other); };
    if (is_it(lock.site) || std::any_of(sites.begin(), sites.end(), is_it)) continue;
    if (!profile::is_lock_wrapper(site.name)) sites.push_back(site);
  }
  lock.other_sites = std::move(sites);
}

}  // namespace

void LockSamples::begin_look() {
  independent_.add(look_);
  look_ = {};
}

void LockSamples::add(State state, const abi::SeenActivity& seen, const abi::HeldLocks& held,
                      bool outcome_is_known) {
  ++count_;
  ++states_[static_cast<std::size_t>(state)];
  if (outcome_is_known) {
    ++look_.known[static_cast<std::size_t>(state)];
  } else {
    ++look_.attempts_unknown;
  }
  for (const std::uint64_t lock : held) ++locks_[lock].held;
  if (held.count != 0) {
    OfLock& outermost = locks_[held.lock[0]];
    ++outermost.held_outermost;
    std::set<std::uint64_t> inside(held.begin() + 1, held.end());
    if (seen.lock != 0 && state != State::kBlocked) inside.insert(seen.lock);
    inside.erase(held.lock[0]);
    for (const std::uint64_t lock : inside) ++outermost.inside[lock];
  }
  if (seen.lock == 0 || state == State::kBlocked) return;
  OfLock& lock = locks_[seen.lock];
  if (outcome_is_known) {
    ++lock.states[state];
  } else {
    ++lock.attempts_unknown;
  }
  if (seen.site != 0) {
    ++lock.sites[seen.site];
    sites_.insert(seen.site);
  }
}

void LockSamples::add_taken(std::uint64_t outermost, std::uint64_t count) {
  (outermost != 0 ? taken_ : taken_anywhere_) += static_cast<double>(count);
  if (outermost != 0) locks_[outermost].taken += static_cast<double>(count);
}

/// Divides what was taken within each outermost lock, itself included. A lock inside counts as often as the
/// outermost one, or less if it was seen in less than a twentieth of the samples: samples do not tell a
/// section that is short from one that is rare.
std::map<std::uint64_t, double> LockSamples::acquisitions() const {
  constexpr double kCountsFully = 0.05;
  std::map<std::uint64_t, double> result;
  const double all = taken_ > 0 ? 1 + taken_anywhere_ / taken_ : 1;
  for (const auto& [address, outermost] : locks_) {
    const auto weight_of = [&](std::uint64_t seen) {
      return std::min(
          1.0, static_cast<double>(seen) / (kCountsFully * static_cast<double>(outermost.held_outermost)));
    };
    double weights = 1;
    for (const auto& [lock, seen] : outermost.inside) weights += weight_of(seen);
    const double taken = all * outermost.taken / weights;
    result[address] += taken;
    for (const auto& [lock, seen] : outermost.inside) result[lock] += weight_of(seen) * taken;
  }
  return result;
}

Profile LockSamples::profile(double thread_ns, const LockCountsByAddress& counts) const {
  Profile profile;
  profile.samples = count_;
  profile.acquisitions_estimated = true;
  // Each sample stands for the same time of one thread.
  const double ns = count_ != 0 ? thread_ns / static_cast<double>(count_) : 0;
  for (std::size_t i = 0; i < profile::kStates; ++i) profile.times[i] = ns * static_cast<double>(states_[i]);
  // Samples without a known outcome are among those of attempts.
  std::map<std::uint64_t, double> taken = acquisitions();
  for (const auto& [address, samples] : locks_) {
    Lock lock;
    lock.place.address = address;
    const auto most = std::max_element(samples.sites.begin(), samples.sites.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != samples.sites.end()) lock.site.address = most->first;
    for (const auto& [site, time] : samples.sites)
      if (site != lock.site.address) lock.other_sites.push_back({site});
    lock.acquisitions = taken[address];
    for (const auto& [state, count] : samples.states)
      time_in(lock.times, state) = ns * static_cast<double>(count);
    lock.waits_ns = profile::waiting_ns(lock.times);
    const double committed = in_state(samples.states, State::kAttempt);
    const double aborted = in_state(samples.states, State::kAborted);
    const double share =
        committed + aborted > 0 ? aborted / (committed + aborted) : aborted_share(counts, address);
    const auto unknown = static_cast<double>(samples.attempts_unknown);
    time_in(lock.times, State::kAttempt) += ns * unknown * (1 - share);
    time_in(lock.times, State::kAborted) += ns * unknown * share;
    time_in(profile.times, State::kAttempt) -= ns * unknown * share;
    time_in(profile.times, State::kAborted) += ns * unknown * share;
    lock.aborted_ns = time_in(lock.times, State::kAborted);
    lock.holds_ns = ns * static_cast<double>(samples.held) + time_in(lock.times, State::kAttempt);
    profile.locks.push_back(lock);
  }
  std::vector<profile::IndependentSamples::Attempts> attempts;
  for (const auto& [address, samples] : locks_)
    attempts.push_back({in_state(samples.states, State::kAttempt), in_state(samples.states, State::kAborted),
                        static_cast<double>(samples.attempts_unknown)});
  profile::IndependentSamples independent = independent_;
  independent.add(look_);
  profile.independent_samples = independent.estimate(attempts);
  return profile;
}

void add_counts(Profile& profile, const LockCountsByAddress& counts_by_lock, double ticks_per_second) {
  std::map<std::uint64_t, std::size_t> known;
  for (std::size_t i = 0; i < profile.locks.size(); ++i) known.emplace(profile.locks[i].place.address, i);
  for (const auto& [address, counts] : counts_by_lock) {
    if (address == 0) continue;  // many locks
    const auto [place, is_new] = known.emplace(address, profile.locks.size());
    if (is_new) profile.locks.emplace_back().place.address = address;
    Lock* const lock = &profile.locks[place->second];
    for (std::size_t i = 0; i < abi::kAbortCauses; ++i)
      if (counts.aborts[i] != 0)
        lock->aborts[abi::kAbortCauseNames[i]] += static_cast<double>(counts.aborts[i]);
    if (profile.exact) continue;
    lock->commits = static_cast<double>(counts.commits);
    lock->attempts = attempts_of(counts);
    lock->fallbacks = static_cast<double>(counts.fallbacks);
    lock->contended =
        static_cast<double>(counts.acquisitions - std::min(counts.acquisitions, counts.fallbacks));
    lock->acquisitions =
        std::max(lock->acquisitions, static_cast<double>(counts.acquisitions)) + lock->commits;
    if (ticks_per_second > 0)
      lock->longest_wait_ns = 1e9 * static_cast<double>(counts.longest_wait_ticks) / ticks_per_second;
  }
  profile::order_locks(profile, profile::loses_more);
}

void add_thread_counts(Profile& profile, const std::filesystem::path& file) {
  const std::map<std::uint32_t, abi::CounterEntry> counts = counts_by_thread(file);
  for (profile::Thread& thread : profile.threads) {
    const auto found = counts.find(thread.id);
    if (found == counts.end()) continue;
    thread.commits = static_cast<double>(found->second.commits);
    thread.aborts = attempts_of(found->second) - thread.commits;
  }
}

void name_places(Profile& profile, const profile::Names& names) {
  std::map<std::uint64_t, profile::Place> code;  // conflicts may be many, at few instructions
  const auto in_conflict = [&](std::uint64_t address) {
    const auto [known, is_new] = code.try_emplace(address);
    if (is_new) known->second = code_in_conflict(names, address);
    return known->second;
  };
  for (Lock& lock : profile.locks) {
    lock.place = names.data(lock.place.address);
    if (lock.site.address != 0) lock.site = names.lock_call(lock.site.address);
    for (profile::Place& site : lock.other_sites) site = names.lock_call(site.address);
    for (profile::Place& caller : lock.callers) caller = names.lock_call(caller.address);
    skip_wrappers(lock);
    keep_other_sites_of_users(lock);
    for (profile::Conflict& conflict : lock.conflicts) {
      conflict.data = names.place_in_file(conflict.data.address, known_of(conflict));
      conflict.victim = conflict.at_lock ? profile::Place{0, "a look at the lock beside it"}
                                         : in_conflict(conflict.victim.address);
      conflict.other = in_conflict(conflict.other.address);
    }
    for (profile::LineWait& wait : lock.line_waits) {
      wait.data = names.place_in_file(wait.data.address, Known::kAddress);
      wait.site = in_conflict(wait.site.address);
    }
    lock.conflicts = profile::by_place(std::move(lock.conflicts), lock.conflicts_seen.count);
  }
  profile::name_frames(profile, names);
}

profile::Profile profile_of_process(const nlohmann::json& times, const std::filesystem::path& directory) {
  profile::Profile profile = profile::profile_from_json(times);
  const std::filesystem::path file = file_of_process(directory, times.at("process").get<std::uint32_t>());
  add_counts(profile, counts_by_lock(file), 0);
  add_thread_counts(profile, file);
  name_places(profile,
              profile::Names(times.at("memory_map").get<std::string>(), profile::DebugFiles::kServersToo));
  return profile;
}

}  // namespace elision::cli::experiment
