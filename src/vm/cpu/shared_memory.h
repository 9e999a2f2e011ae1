// SPDX-License-Identifier: Apache-2.0
// Where the guest has writable memory that other processes may see (MAP_SHARED). Each process is a machine of
// its own, so that no conflict over such memory could be found: a transaction must not touch it.
//
// Helpers ask ranges(); set() belongs to the engine.
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

  /// [begin, end) is such memory from now on, or no longer.
  void set(std::uint64_t begin, std::uint64_t end, bool shared);

  /// What is such memory now; the reference stays valid, and follows later calls of set().
  const SharedRanges& ranges() const { return view_; }

 private:
  std::vector<SharedRanges::Range> ranges_;
  SharedRanges view_;  // of ranges_
};

}  // namespace elision::vm
