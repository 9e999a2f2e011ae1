// SPDX-License-Identifier: Apache-2.0
// What differs between the aborts that the CPU counted and sampled in two runs, A and B: how many, what they
// cost, and where and why transactions aborted. Pure.
//
// Aborts at a place are its share of the samples, times all aborts. A change of them has the uncertainty of
// both shares, as if each sample were drawn for itself; the number of all aborts adds none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/change.h"
#include "profile/profile.h"

namespace elision::profile {

/// Aborts for one cause at one line of a function. Lines that only one run has are added up if the other run
/// has such lines as well, since another build may have moved the code or lack its lines. Then `place` has no
/// line.
struct AbortChange {
  std::string cause{};
  Place place{};  // its address is of one of the runs
  Presence presence = Presence::kBoth;
  Change aborts{};
  double samples_a = 0, samples_b = 0;
  bool other_lines = false;  // of the function; some of its lines have rows of their own
};

/// What a run knows of its aborts.
struct KnownAborts {
  std::string missing{};  // why it knows nothing: a clause. Empty: it knows what follows, as in AbortEvents
  bool counted = false;
  double samples = 0, lost = 0, running = 1;
  std::optional<double> per_commit{};  // aborts a commit; nothing: no commit is known
};

struct AbortDiff {
  KnownAborts a{}, b{};
  // What follows is there only if both runs know their aborts.
  Change aborts{}, commits{};
  Change cycles{};                  // lost by aborts. With bounds, unless the CPU counted them in both runs
  std::vector<AbortChange> rows{};  // the largest change first

  bool is_known() const { return a.missing.empty() && b.missing.empty(); }
};

AbortDiff diff_of_aborts(const Profile& a, const Profile& b);

/// Returns why the profile knows nothing of aborts from the CPU's events, a clause, or nothing if it knows
/// them.
std::string why_no_abort_events(const Profile& profile);

}  // namespace elision::profile
