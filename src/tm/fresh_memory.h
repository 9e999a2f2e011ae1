// SPDX-License-Identifier: Apache-2.0
// Memory that the running fallback has allocated. GCC takes it for private: where it sees the allocation, it
// reads and writes the memory without barriers, also after it has passed a pointer to a function whose clone
// uses them. So barriers must not buffer writes to it. No other thread sees it before the commit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tm/pages.h"

namespace elision::tm {

class FreshMemory {
 public:
  void reserve_first() { blocks_.reserve_first(); }
  void give_back() { blocks_.give_back(); }
  void clear() {
    blocks_.clear();
    low_ = span_ = 0;
  }

  /// A block of the transaction, which is not among those so far.
  void note(const void* memory, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uint64_t>(memory);
    const std::uint64_t end = begin + bytes;
    const std::uint64_t high = blocks_.is_empty() ? end : std::max(low_ + span_, end);
    low_ = blocks_.is_empty() ? begin : std::min(low_, begin);
    span_ = high - low_;
    blocks_.push({begin, end});
    for (std::size_t at = blocks_.size() - 1; at > 0 && blocks_[at - 1].begin > begin; --at)
      std::swap(blocks_[at - 1], blocks_[at]);
  }

  [[gnu::always_inline]] bool has(const void* address) {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    return at - low_ < span_ && is_in_block(at);
  }

 private:
  struct Block {
    std::uint64_t begin, end;
  };

  [[gnu::noinline]] bool is_in_block(std::uint64_t at) {
    std::size_t first = 0, last = blocks_.size();  // the blocks among which the last one with begin <= at is
    while (last - first > 1) {
      const std::size_t middle = first + (last - first) / 2;
      (blocks_[middle].begin <= at ? first : last) = middle;
    }
    return blocks_[first].begin <= at && at < blocks_[first].end;
  }

  Array<Block> blocks_;               // in order of their addresses
  std::uint64_t low_ = 0, span_ = 0;  // from the first block to the end of the last; 0: none
};

}  // namespace elision::tm
