// SPDX-License-Identifier: Apache-2.0
// Completes profiles of locks (profile/profile.h): samples become one, the library's counts and names of
// addresses are added.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "abi/thread_activity.h"
#include "cli/experiment/lock_counters.h"
#include "profile/independent_samples.h"
#include "profile/names.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

/// Samples of what threads did, one a look and thread. Pure.
class LockSamples {
 public:
  /// The samples that follow are of another look.
  void begin_look();
  /// In an attempt, `state` is kAttempt if it committed later, or kAborted. `outcome_is_known` false: it is
  /// one of both.
  void add(profile::State state, const abi::SeenActivity& seen, const abi::HeldLocks& held = {},
           bool outcome_is_known = true);
  /// `count` acquisitions since the look before, of `outermost` and the locks that are taken within it; 0:
  /// of any locks, so that they are divided as those of known locks are.
  void add_taken(std::uint64_t outermost, std::uint64_t count);

  std::uint64_t count() const { return count_; }
  std::size_t sites() const { return sites_.size(); }
  /// Times of the states: `thread_ns`, the sum over all threads, divided as the samples are. Attempts of a
  /// lock whose outcome is not known are divided as the others are, or by the counts if none is known.
  profile::Profile profile(double thread_ns, const LockCountsByAddress& counts) const;

 private:
  struct OfLock {
    std::map<profile::State, std::uint64_t> states;  // as the lock at which the thread is
    std::map<std::uint64_t, std::uint64_t> sites;
    std::uint64_t attempts_unknown = 0;  // with an outcome that is not known
    std::uint64_t held = 0;              // for real, other locks inside included
    // As the outermost lock of a thread:
    double taken = 0;
    std::uint64_t held_outermost = 0;
    std::map<std::uint64_t, std::uint64_t> inside;  // by lock that was seen within it
  };

  std::map<std::uint64_t, double> acquisitions() const;

  std::uint64_t count_ = 0;
  std::array<std::uint64_t, profile::kStates> states_{};
  profile::IndependentSamples independent_;
  profile::IndependentSamples::Look look_{};  // that goes on
  std::set<std::uint64_t> sites_;
  std::map<std::uint64_t, OfLock> locks_;
  double taken_ = 0, taken_anywhere_ = 0;  // of known outermost locks, and of others
};

/// Adds the counts that the library keeps for each lock: waits, commits, fallbacks, aborts by cause. In a
/// profile from samples they replace estimates.
void add_counts(profile::Profile& profile, const LockCountsByAddress& counts, double ticks_per_second);

/// Adds the commits and aborts of each thread, by the process's counter file.
void add_thread_counts(profile::Profile& profile, const std::filesystem::path& file);

/// Names locks and places, and orders the locks, the one with most waiting first.
void name_places(profile::Profile& profile, const profile::Names& names);

/// The profile of a process of the virtual machine, completed. `times`: "lock_times" of its statistics;
/// `directory`: with the counter files of the run.
profile::Profile profile_of_process(const nlohmann::json& times, const std::filesystem::path& directory);

}  // namespace elision::cli::experiment
