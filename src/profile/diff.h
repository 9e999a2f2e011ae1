// SPDX-License-Identifier: Apache-2.0
// What differs between the profiles of two runs, A and B: times by state, locks, ends of attempts, aborts
// that the CPU counted, functions. Pure.
//
// Times are shares, since runs differ in length: of the threads' time in the part of the run with two or more
// threads, and for functions of the time of all call paths. A share that is known from samples has an
// uncertainty, as if each sample were drawn for itself. That programs differ from run to run is no part of
// it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "profile/abort_diff.h"
#include "profile/change.h"
#include "profile/profile.h"

namespace elision::profile {

/// Of shares of time.
using ShareChange = Change;
using StateChanges = std::array<ShareChange, kStates>;

/// A lock, or all that are taken at one place. Time is lost by waiting or speculating, by attempts that
/// abort, and in the lock's own code.
struct LockChange {
  std::string name{};
  Presence presence = Presence::kBoth;
  ShareChange lost{}, waiting{}, aborted{}, overhead{};
  double acquisitions_a = 0, acquisitions_b = 0;
};

/// The name of attempts that did not abort, among EndChange::name.
inline constexpr const char* kCommits = "commits";

/// How attempts to elide locks ended: "commits", "conflict" and so on, as numbers and as shares of all
/// attempts.
struct EndChange {
  std::string name{};
  double count_a = 0, count_b = 0;
  double share_a = 0, share_b = 0;
};

/// Time in a function: of its own, and with that of the functions that it calls.
struct FunctionChange {
  std::string name{};
  ShareChange inclusive{}, exclusive{};
  StateChanges inclusive_states{}, exclusive_states{};

  /// The larger change of both.
  double most() const;
};

struct ProfileDiff {
  bool a_is_sufficient = false, b_is_sufficient = false;  // is_sufficient()
  StateChanges states{};
  ShareChange lost{};                     // at locks, by waiting, speculating, aborts and the locks' own code
  std::vector<LockChange> locks{};        // the largest change of lost time first
  double attempts_a = 0, attempts_b = 0;  // sum of `ends`
  double fallbacks_a = 0, fallbacks_b = 0;
  std::vector<EndChange> ends{};  // commits first, then aborts by cause
  AbortDiff aborts{};
  std::vector<FunctionChange> functions{};  // the largest change first
};

ProfileDiff diff(const Profile& a, const Profile& b);

/// One sentence, and it says so if there is no difference beyond the uncertainty.
std::string verdict_of(const ProfileDiff& diff);

}  // namespace elision::profile
