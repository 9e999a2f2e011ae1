// SPDX-License-Identifier: Apache-2.0
// The stride prefetcher of one CPU: predicts the next line of a load instruction from its earlier lines.
//
// It sees the loads that miss L1 and the first uses of prefetched lines. Other hits must not matter, because
// the filter (filter.h) hides them. Strides are counted in lines. A stride is used once it was seen twice in
// a row, and only up to 2 KB (Intel Optimization Reference Manual 248966, section 2 on Haswell, data
// prefetching). Freestanding.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace elision::machine {

class StridePrefetcher {
 public:
  static constexpr std::int64_t kMostLines = 32;

  /// The load at `instruction` accesses `line`. Returns its predicted stride in lines, or 0.
  std::int64_t observe(std::uint64_t instruction, LineAddr line) {
    const std::int64_t expected = expect(instruction, line);
    note(instruction, line);
    return expected;
  }
  /// observe(), if the prediction is not wanted.
  void note(std::uint64_t instruction, LineAddr line) {
    Entry& entry = entries_[index(instruction)];
    if (entry.instruction != instruction) {
      entry = {instruction, line.value, 0};
      return;
    }
    const auto stride = static_cast<std::int64_t>(line.value - entry.last);
    if (stride == 0) return;
    entry.last = line.value;
    entry.stride = stride >= -kMostLines && stride <= kMostLines ? stride : 0;
  }
  /// What observe() would return.
  std::int64_t expect(std::uint64_t instruction, LineAddr line) const {
    const Entry& entry = entries_[index(instruction)];
    const auto stride = static_cast<std::int64_t>(line.value - entry.last);
    return entry.instruction == instruction && stride == entry.stride ? stride : 0;
  }

 private:
  static constexpr std::size_t kEntries = 64;
  struct Entry {
    std::uint64_t instruction;
    std::uint64_t last;  // line
    std::int64_t stride;
  };
  static constexpr std::size_t index(std::uint64_t instruction) {
    return (instruction ^ instruction >> 6) % kEntries;
  }
  Entry entries_[kEntries] = {};
};

}  // namespace elision::machine
