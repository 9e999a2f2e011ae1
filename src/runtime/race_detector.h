// SPDX-License-Identifier: Apache-2.0
// Whether a race detector would lose sight of locks that we take over: then all of them stay glibc's.
//
// ThreadSanitizer sees locks by functions of the same names. Where its library comes behind ours (it does
// unless it is preloaded first, or linked into the program), a lock of ours ends here, and every section
// becomes a race to it. If it comes first, it calls us and nothing is amiss. valgrind's helgrind and drd see
// what glibc's own functions do; they are named in LD_PRELOAD (runtime/configuration.cc looks there).
#pragma once

namespace elision::runtime {

/// Whether ThreadSanitizer's library comes behind ours. Allocates nothing, as a failing dlsym would.
bool race_detector_follows();

}  // namespace elision::runtime
