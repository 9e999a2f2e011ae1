// SPDX-License-Identifier: Apache-2.0
// The guest's writable memory that it may share with other processes (MAP_SHARED). Each process has its own
// machine model, which cannot detect conflicts with other processes. So a transaction that accesses such
// memory aborts.
//
// Helpers read ranges(); only the engine calls set().
#pragma once

#include <cstdint>
#include <vector>

#include "vm/cpu/shared_ranges.h"

namespace elision::vm {

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;  // ranges() points into this object
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Adds [begin, end) to the shared memory, or removes it.
  void set(std::uint64_t begin, std::uint64_t end, bool shared);

  /// The shared memory. The reference stays valid and shows later changes.
  const SharedRanges& ranges() const { return view_; }

 private:
  std::vector<SharedRanges::Range> ranges_;
  SharedRanges view_;  // of ranges_
};

}  // namespace elision::vm
