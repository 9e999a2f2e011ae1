// SPDX-License-Identifier: Apache-2.0
// The sets of a set-associative cache: which ways are occupied and which one is replaced next. Private caches
// and the directory share this part.
//
// A set is a few words, so that it lies in one or two of the host's cache lines: first a word with an
// "occupied" bit and a "used" bit for each way and the clock's hand, then an eight-bit tag for each way,
// eight to a word. A tag that matches is only a candidate, which the caller confirms. Replacement is the
// clock algorithm: the first way from the hand on that is not used. The hand clears `used` as it passes.
// Freestanding.
#pragma once

#include <cstdint>

#include "machine/arena.h"

namespace elision::machine {

/// `most_ways` is a compile-time constant, so that the address of a set needs no multiplication.
template <std::uint32_t most_ways>
class CacheSets {
 public:
  static constexpr std::uint32_t kMostWays = most_ways;
  static_assert(most_ways <= 24);
  static constexpr std::uint32_t kNoWay = ~std::uint32_t{0};

  static std::size_t bytes(std::uint32_t sets) { return sets * sizeof(Set) + 64; }

  void place(Arena& arena, std::uint32_t sets, std::uint32_t ways) {
    ways_ = ways;
    tag_words_ = (ways + 7) / 8;
    all_ = (std::uint64_t{1} << ways) - 1;
    sets_ = arena.take<Set>(sets);
  }

  std::uint32_t ways() const { return ways_; }

  /// The occupied way with `tag` for which `is_it(way)` is true, or kNoWay.
  template <class IsIt>
  [[gnu::always_inline]] std::uint32_t find(std::uint32_t set, std::uint64_t tag, IsIt is_it) const {
    constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
    const std::uint64_t everywhere = (tag & 0xff) * kOnes;
    for (std::uint32_t word = 0; word < tag_words_; ++word) {
      // Marks every equal byte, and sometimes the byte above an equal one.
      const std::uint64_t difference = sets_[set].tags[word] ^ everywhere;
      for (std::uint64_t equal = (difference - kOnes) & ~difference & kHighs; equal != 0;
           equal &= equal - 1) {
        const std::uint32_t way = word * 8 + static_cast<std::uint32_t>(__builtin_ctzll(equal)) / 8;
        if ((sets_[set].ways >> way & 1) && is_it(way)) return way;
      }
    }
    return kNoWay;
  }

  /// Prefetches what find() reads of the set.
  void prefetch(std::uint32_t set) const { __builtin_prefetch(&sets_[set]); }

  /// A line with `tag` comes into `way`, used.
  void fill(std::uint32_t set, std::uint32_t way, std::uint64_t tag) {
    sets_[set].ways |= std::uint64_t{1} << way | std::uint64_t{1} << (kUsedShift + way);
    const unsigned shift = way % 8 * 8;
    std::uint64_t& tags = sets_[set].tags[way / 8];
    tags = (tags & ~(std::uint64_t{0xff} << shift)) | (tag & 0xff) << shift;
  }
  void clear(std::uint32_t set, std::uint32_t way) {
    sets_[set].ways &= ~(std::uint64_t{1} << way | std::uint64_t{1} << (kUsedShift + way));
  }
  void mark_used(std::uint32_t set, std::uint32_t way) {
    sets_[set].ways |= std::uint64_t{1} << (kUsedShift + way);
  }
  bool used(std::uint32_t set, std::uint32_t way) const { return sets_[set].ways >> (kUsedShift + way) & 1; }

  /// Where a new line goes: the first way that is not occupied, else the clock's choice, which still holds
  /// its line. `take_used(way)` returns and clears the `used` bits that are kept elsewhere for the way.
  template <class TakeUsed>
  [[gnu::always_inline]] std::uint32_t choose_victim(std::uint32_t set, TakeUsed take_used) {
    std::uint64_t& word = sets_[set].ways;
    if (const std::uint64_t free = ~word & all_; free != 0)
      return static_cast<std::uint32_t>(__builtin_ctzll(free));
    std::uint32_t way = static_cast<std::uint32_t>(word >> kHandShift);
    std::uint64_t used = word >> kUsedShift & all_;
    for (;;) {
      const std::uint64_t bit = std::uint64_t{1} << way;
      const bool was_used = (used & bit) | static_cast<std::uint64_t>(take_used(way));
      used &= ~bit;
      const std::uint32_t next = way + 1 == ways_ ? 0 : way + 1;
      if (!was_used) {
        word = all_ | used << kUsedShift | std::uint64_t{next} << kHandShift;
        return way;
      }
      way = next;
    }
  }
  std::uint32_t choose_victim(std::uint32_t set) {
    std::uint64_t& word = sets_[set].ways;
    if (const std::uint64_t free = ~word & all_; free != 0)
      return static_cast<std::uint32_t>(__builtin_ctzll(free));
    const auto hand = static_cast<std::uint32_t>(word >> kHandShift);
    std::uint64_t used = word >> kUsedShift & all_;
    const std::uint64_t before_hand = (std::uint64_t{1} << hand) - 1;
    std::uint64_t unused = ~used & all_ & ~before_hand;
    std::uint64_t kept = before_hand;
    if (unused == 0) {  // the hand passes the last way, and starts again
      used &= before_hand;
      unused = ~used & all_;
      kept = 0;
    }
    const auto way = static_cast<std::uint32_t>(__builtin_ctzll(unused));
    used &= kept | ~((std::uint64_t{1} << way) - 1);
    const std::uint32_t next = way + 1 == ways_ ? 0 : way + 1;
    word = all_ | used << kUsedShift | std::uint64_t{next} << kHandShift;
    return way;
  }

 private:
  static constexpr unsigned kUsedShift = most_ways;
  static constexpr unsigned kHandShift = 2 * most_ways;

  static constexpr std::uint32_t kTagWords = (most_ways + 7) / 8;

  struct Set {
    std::uint64_t ways;  // occupied from bit 0 on, used from kUsedShift on, the hand from kHandShift on
    std::uint64_t tags[kTagWords];
  };

  std::uint32_t ways_, tag_words_;
  std::uint64_t all_;
  Set* sets_;
};

}  // namespace elision::machine
