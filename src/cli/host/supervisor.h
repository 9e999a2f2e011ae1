// SPDX-License-Identifier: Apache-2.0
// Runs a function in a child process, does work afterwards, and ends as the child did. Needed because the
// function may end its process.
#pragma once

#include <functional>

namespace elision::cli {

/// Forks. The child runs `child` and ends with its result. The parent passes on signals that were sent to it
/// alone (the terminal's reach both), waits for the child, runs `afterwards`, and returns the wait status.
int supervise(const std::function<int()>& child, const std::function<void()>& afterwards);

/// Ends this process with the exit code or signal of `wait_status`, without a second core file.
[[noreturn]] void end_like(int wait_status);

}  // namespace elision::cli
