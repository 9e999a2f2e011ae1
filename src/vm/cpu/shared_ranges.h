// SPDX-License-Identifier: Apache-2.0
// The part of shared_memory.h that helpers use. It has no container, because helpers are freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elision::vm {

/// Disjoint, ascending ranges of addresses, in an array that a SharedMemory owns.
struct SharedRanges {
  struct Range {
    std::uint64_t begin, end;
  };

  const Range* ranges = nullptr;
  std::size_t count = 0;

  bool contains(std::uint64_t address) const {
    std::size_t low = 0, high = count;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (ranges[middle].end <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < count && ranges[low].begin <= address;
  }
};

}  // namespace elision::vm
