// SPDX-License-Identifier: Apache-2.0
// The choice of the lock design: which functions serve this process's locks.
#pragma once

namespace elision::runtime {

/// Puts the functions of the configured design into entry_points.
void install_design();

/// Whether the short path of preload/mutex.cc serves this design: `tatas`, and tatas-aahtm and htm-N without
/// HTM. Not with pure spinning, whose lock is the papers': test, then test-and-set.
bool design_has_fast_path();

/// In the child of a fork: resets what a design keeps outside of mutexes.
void restart_design_in_child();

}  // namespace elision::runtime
