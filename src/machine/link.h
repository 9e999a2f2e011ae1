// SPDX-License-Identifier: Apache-2.0
// A path that carries a bounded number of lines a cycle: the interconnect of a socket, or its memory
// channels.
//
// One server with a queue: each line occupies it for `cycles_a_line`, in the order of the calls, which is
// virtual time. A line enters when it is requested, even if its address is known only later: a queue that
// waited for addresses would hold back all lines behind them. Freestanding.
#pragma once

#include <algorithm>
#include <cstdint>

namespace elision::machine {

class Link {
 public:
  static constexpr unsigned kFractionBits = 8;  // of a cycle

  /// Each line takes `cycles_a_line` / 256 cycles; 0: any number of lines at once.
  void configure(std::uint32_t cycles_a_line) { line_time_ = cycles_a_line; }

  /// A line enters at `now`. Returns the cycles that it waits for those before it.
  std::uint64_t enter(std::uint64_t now) {
    const std::uint64_t arrival = now << kFractionBits;
    const std::uint64_t start = std::max(arrival, free_at_);
    free_at_ = start + line_time_;
    return (start - arrival) >> kFractionBits;
  }

 private:
  std::uint64_t line_time_ = 0;
  std::uint64_t free_at_ = 0;
};

}  // namespace elision::machine
