// SPDX-License-Identifier: Apache-2.0
// Counts forks, so that the child can tell what the threads of its parent left in a lock: they are gone.
#pragma once

#include <cstdint>

namespace elision::locks {

/// Raised in the child of each fork, by its only thread.
inline constinit std::uint32_t fork_generation = 0;

/// What a lock carries while somebody in this process forgets what it inherited. It differs from process to
/// process: a fork may come in the middle of that.
inline std::uint32_t adopting() { return ~fork_generation; }

}  // namespace elision::locks
