// SPDX-License-Identifier: Apache-2.0
// Runs something in a child process and then ends as the child did: for work that must follow a
// program whose last act is to end its process.
#pragma once

#include <functional>

namespace elision::cli {

/// Forks; the child returns from `child` (or does not) and ends with its result. The parent passes
/// signals that were sent to it alone on to the child (those of the terminal reach both), waits, runs
/// `afterwards`, and returns the wait status.
int supervise(const std::function<int()>& child, const std::function<void()>& afterwards);

/// Ends this process as `wait_status` says: the same exit code, or the same signal without a second
/// core file.
[[noreturn]] void end_like(int wait_status);

}  // namespace elision::cli
