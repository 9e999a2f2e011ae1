// SPDX-License-Identifier: Apache-2.0
// Conflicts as a reader tells them apart. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace elision::profile {

/// A place gets a line of its own from this share of a lock's conflicts on.
inline constexpr double kSmallestPlaceShare = 0.05;
/// So many places are kept at most.
inline constexpr std::size_t kMostPlaces = 10;

/// What most of the conflicts are. They are on different data if most of those with two known accesses are.
Sharing sharing_of(const ConflictCounts& counts);

/// The conflicts of a lock whose places have names. Those that look alike to a reader become one: same data,
/// same lines of source on both sides. Rare ones (kSmallestPlaceShare of `all`) between the same lines become
/// one if their data are in one variable, or have no name. What is rare then is left out. The most frequent
/// ones come first.
std::vector<Conflict> by_place(std::vector<Conflict> conflicts, double all);

/// "slots (12 places)", or "slots". Without a name: "the data 40 bytes behind the lock", if they are near the
/// one at `lock` (0: not known), since addresses differ from run to run, else their address.
std::string data_text(const std::string& name, std::uint64_t address, std::size_t places, std::uint64_t lock);

}  // namespace elision::profile
