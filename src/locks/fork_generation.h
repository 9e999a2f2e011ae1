// SPDX-License-Identifier: Apache-2.0
// Counts forks, so that the child can tell what the threads of its parent left in a lock: they are gone.
#pragma once

#include <cstdint>

namespace elision::locks {

/// Raised in the child of each fork, by its only thread.
inline constinit std::uint32_t fork_generation = 0;

}  // namespace elision::locks
