// SPDX-License-Identifier: Apache-2.0
// The choice of the lock design: which functions serve this process's locks.
#pragma once

#include <cstdint>

namespace elision::runtime {

/// Puts the functions of the configured design into entry_points.
void install_design();
/// Whether the configured design leaves all locks to glibc's functions, and none of ours runs: pthread and
/// glibc-elision, unless their activity is asked for.
bool all_locks_are_glibcs();

/// Which locks of the configured design the short paths of src/preload serve. None if it elides or
/// speculates. Mutexes: those that park. With pure spinning the lock is the papers': test, then test-and-set.
enum class ShortMutexes : std::uint8_t { kNone, kTatas, kTicket };
struct ShortPathsOfDesign {
  ShortMutexes mutex = ShortMutexes::kNone;
  bool rwlock = false;
  bool spin = false;
};
/// Set by install_design(), before a thread is known.
[[gnu::visibility("hidden")]] extern constinit ShortPathsOfDesign short_paths_of_design;

/// In the child of a fork: resets what a design keeps outside of mutexes.
void restart_design_in_child();

}  // namespace elision::runtime
