// SPDX-License-Identifier: Apache-2.0
// The locks that a thread holds, as a reader of its activity (thread_activity.h) sees them. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elision::abi {

inline constexpr std::size_t kMostHeldLocks = 7;

/// The locks that the thread holds for real, outermost first. Of more than these, the innermost.
struct HeldLocks {
  std::uint64_t lock[kMostHeldLocks] = {};
  unsigned count = 0;

  const std::uint64_t* begin() const { return lock; }
  const std::uint64_t* end() const { return lock + count; }
};

}  // namespace elision::abi
