// SPDX-License-Identifier: Apache-2.0
// One profile of several processes, such as the ranks of an MPI program. Pure.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"

namespace elision::profile {

/// So many conflicts and lines waited for are kept of a lock.
inline constexpr std::size_t kMostMergedPlaces = 100;

/// Times and counts are sums, the highest number of threads and of CPUs that of one process.
///
/// Locks of several processes are one if they have one name, or no name and one call site, or neither and one
/// address. A process may have several such locks: then that with most waiting of each process becomes one,
/// that with second most, and so on. Functions and call paths are joined by name and line, since addresses
/// differ, and so are rows of aborts with one cause. Threads stay apart.
///
/// The order of `profiles` decides only the order of what the result lists, and a merge of merges is the
/// merge of all (the lock in Lock::inside apart, of which each profile knows only the first). The merge of
/// one profile is that profile.
Profile merged(std::vector<Profile> profiles);

/// The names of threads become "process: name".
void name_threads_by(const std::string& process, Profile& profile);

}  // namespace elision::profile
