// SPDX-License-Identifier: Apache-2.0
// The choice of the lock design: which functions serve mutexes in this process.
#pragma once

namespace elision::runtime {

/// Puts the functions of the configured design into entry_points.
void install_design();

/// Whether the short path of preload/mutex.cc serves this design: `tatas`, and what becomes of tatas-aahtm
/// and htm-N without HTM. Not with pure spinning, where the lock is the papers': test, then test-and-set.
bool design_has_fast_path();

/// What a design keeps outside of mutexes starts anew in the child of a fork.
void restart_design_in_child();

}  // namespace elision::runtime
