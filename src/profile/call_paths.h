// SPDX-License-Identifier: Apache-2.0
// Adds up samples of call paths: by state, lock, thread and the addresses of the calls. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "profile/names.h"
#include "profile/profile.h"
#include "profile/unwinder.h"

namespace elision::profile {

class CallPaths {
 public:
  /// So many different paths are kept. The time of further ones counts for their state, lock and thread,
  /// without calls; if these are as many again, without the lock.
  static constexpr std::size_t kMostPaths = 1 << 15;

  /// One more sample, of a thread in `state` at `lock` (0: at none), which stands for `ns` of its time.
  /// `places`: instructions, the innermost first.
  void add(State state, std::uint64_t lock, std::uint32_t thread, const std::vector<std::uint64_t>& places,
           double ns);
  /// All samples of `other`, whose times are in units of `ns_per_unit`.
  void add_scaled(const CallPaths& other, double ns_per_unit);
  std::uint64_t samples() const { return samples_; }

  /// Adds threads, frames and paths to a profile that has none. Locks are found by their address, and added
  /// if they are not there. Frames have addresses only (name_frames).
  void add_to(Profile& profile) const;

 private:
  struct Sum {
    double ns = 0;
    double samples = 0;
  };
  using Key = std::tuple<State, std::uint64_t, std::uint32_t, std::vector<std::uint64_t>>;

  std::map<Key, Sum> sums_;
  std::uint64_t samples_ = 0;
};

/// The steps of `chain` outside of the lock library's own calls at its inner end, as CallPaths::add takes
/// them.
std::vector<std::uint64_t> places_outside_library(const std::vector<CallStep>& chain, const Names& names);

/// Replaces the addresses of frames by functions, merged ones included, and joins the paths that have become
/// equal.
void name_frames(Profile& profile, const Names& names);

/// Puts the locks into the order that `first` tells, and lets call paths follow: `first(a, b)` is true if `a`
/// comes before `b`.
void order_locks(Profile& profile, bool (*first)(const Lock& a, const Lock& b));

}  // namespace elision::profile
