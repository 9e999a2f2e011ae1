// SPDX-License-Identifier: Apache-2.0
// The lines of a transaction's read set that have left L1: a Bloom filter with two hashes.
//
// A false positive is a conflict like any other. (Intel's patent 9298632 describes such a filter, filled on
// eviction from L1; its size was never published.) Only requests that leave a core are checked against it, as
// snoops are; a store to a line that its CPU owns is not. Freestanding.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/arena.h"

namespace elision::machine {

class ReadFilter {
 public:
  static std::size_t bytes(std::uint32_t log2_bits) {
    return words(log2_bits) * sizeof(std::uint64_t) + kLineBytes;
  }

  /// With `log2_bits` 0 the filter stays empty.
  void place(Arena& arena, std::uint32_t log2_bits) {
    log2_bits_ = log2_bits;
    words_ = arena.take<std::uint64_t>(words(log2_bits));
  }

  bool empty() const { return empty_; }
  void add(LineAddr line) {
    if (log2_bits_ == 0) return;
    empty_ = false;
    for (const std::uint64_t bit : bits_of(line)) words_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  bool may_have(LineAddr line) const {
    if (empty_) return false;
    for (const std::uint64_t bit : bits_of(line))
      if (!(words_[bit / 64] >> bit % 64 & 1)) return false;
    return true;
  }
  void clear() {
    if (empty_) return;
    for (std::size_t i = 0; i < words(log2_bits_); ++i) words_[i] = 0;
    empty_ = true;
  }

 private:
  struct Bits {
    std::uint64_t bit[2];
    const std::uint64_t* begin() const { return bit; }
    const std::uint64_t* end() const { return bit + 2; }
  };
  static std::size_t words(std::uint32_t log2_bits) {
    return log2_bits <= 6 ? 1 : std::size_t{1} << (log2_bits - 6);
  }

  Bits bits_of(LineAddr line) const {
    // The mixer of splitmix64: neighbouring lines must not fill the filter more evenly than random ones.
    std::uint64_t mixed = (line.value + 1) * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return {{mixed >> (64 - log2_bits_), (mixed << log2_bits_) >> (64 - log2_bits_)}};
  }

  std::uint32_t log2_bits_;
  bool empty_ = true;
  std::uint64_t* words_;
};

}  // namespace elision::machine
