// SPDX-License-Identifier: Apache-2.0
// Where the guest has writable memory that other processes may see (MAP_SHARED). Each process is a machine of
// its own, so that no conflict over such memory could be found: a transaction must not touch it.
//
// The light path asks contains(); set() belongs to the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace elision::vm {

class SharedMemory {
 public:
  /// [begin, end) is such memory from now on, or no longer.
  void set(std::uint64_t begin, std::uint64_t end, bool shared);

  bool contains(std::uint64_t address) const {
    const Range* const ranges = ranges_.data();
    std::size_t low = 0, high = ranges_.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (ranges[middle].end <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < ranges_.size() && ranges[low].begin <= address;
  }

 private:
  struct Range {
    std::uint64_t begin, end;
  };
  std::vector<Range> ranges_;  // disjoint, ascending
};

}  // namespace elision::vm
