// SPDX-License-Identifier: Apache-2.0
// The pages of the program that nobody has touched since they were mapped: the first access to one faults,
// and the operating system gives it memory.
//
// A bitmap of 512 pages for each 2 MB of addresses, in a hash table whose keys stay. The table holds 128 GB
// of addresses; pages beyond that count as touched. Freestanding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "machine/arena.h"

namespace elision::machine {

class UntouchedPages {
 public:
  static constexpr std::uint64_t kPageBytes = 4096, kPages = 512;  // of a part of 2 MB

  static std::size_t bytes() { return kSlots * sizeof(Part) + kLineBytes; }
  void place(Arena& arena) { parts_ = arena.take<Part>(kSlots); }

  bool contains(LineAddr line) const {
    const std::uint64_t page = page_of(line);
    const Part* const part = find(page / kPages);
    return part != nullptr && (part->words[page % kPages / 64] >> page % 64 & 1) != 0;
  }
  /// From now on the pages in [begin, end) are untouched, or all of them are touched. `begin` and `end` are
  /// multiples of kPageBytes. `visit(page)`: a page of the table that was touched is untouched again.
  template <class Visit>
  void set(GuestAddr begin, GuestAddr end, bool untouched, Visit visit) {
    const std::uint64_t last = end.value / kPageBytes;
    for (std::uint64_t page = begin.value / kPageBytes; page < last;) {
      const std::uint64_t stop = std::min((page / kPages + 1) * kPages, last);
      Part* part = find(page / kPages);
      const bool known = part != nullptr;
      if (!known && untouched) part = add(page / kPages);
      for (; part != nullptr && page < stop; ++page) {
        std::uint64_t& word = part->words[page % kPages / 64];
        const std::uint64_t bit = std::uint64_t{1} << page % 64;
        if (known && untouched && !(word & bit)) visit(page);
        word = untouched ? word | bit : word & ~bit;
      }
      page = stop;
    }
  }
  /// The page of `line` has memory now; if it is `huge`, all of its 2 MB.
  void touch(LineAddr line, bool huge) {
    const std::uint64_t page = page_of(line);
    Part* const part = find(page / kPages);
    if (part == nullptr) return;
    if (!huge) {
      part->words[page % kPages / 64] &= ~(std::uint64_t{1} << page % 64);
      return;
    }
    for (std::uint64_t& word : part->words) word = 0;
  }

 private:
  struct Part {
    std::uint64_t key;  // number of the part + 1; 0: free
    std::uint64_t words[kPages / 64];
  };
  static constexpr std::uint64_t kSlots = 1 << 17, kMostParts = kSlots / 2;

  static std::uint64_t page_of(LineAddr line) { return line.value / (kPageBytes / kLineBytes); }

  // The part's slot, or the free one where it would be: half of the slots stay free.
  Part* slot_of(std::uint64_t part) const {
    constexpr std::uint64_t kFibonacci = 0x9e3779b97f4a7c15;
    for (std::uint64_t slot = part * kFibonacci >> 47;; ++slot) {
      Part& found = parts_[slot % kSlots];
      if (found.key == part + 1 || found.key == 0) return &found;
    }
  }
  Part* find(std::uint64_t part) const {
    if (count_ == 0) return nullptr;
    Part* const slot = slot_of(part);
    return slot->key == 0 ? nullptr : slot;
  }
  Part* add(std::uint64_t part) {
    if (count_ == kMostParts) return nullptr;
    Part* const slot = slot_of(part);
    ++count_;
    slot->key = part + 1;
    return slot;
  }

  Part* parts_ = nullptr;
  std::uint64_t count_ = 0;
};

}  // namespace elision::machine
