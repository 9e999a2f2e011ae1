// SPDX-License-Identifier: Apache-2.0
// The TLB of one core: a first level for data, with separate parts for pages of 4 KB and of 2 MB, a first
// level for code, and a second level for all.
//
// Only an access that misses L1 needs a translation, because the filter (filter.h) hides most hits from the
// model. A real core translates every access, and pays a few cycles if L1 has a line whose page has left the
// first level. Replacement is first in, first out. A program has huge pages where it asks for them
// (MADV_HUGEPAGE). Freestanding.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/arena.h"
#include "machine/description.h"

namespace elision::machine {

/// One level of a TLB.
class TlbLevel {
 public:
  static std::size_t bytes(std::uint32_t entries, std::uint32_t ways) {
    return entries * sizeof(std::uint64_t) + entries / ways + 2 * kLineBytes;
  }

  void place(Arena& arena, std::uint32_t entries, std::uint32_t ways) {
    ways_ = ways;
    set_mask_ = entries / ways - 1;
    keys_ = arena.take<std::uint64_t>(entries);
    next_ = arena.take<std::uint8_t>(entries / ways);
  }

  bool has(std::uint64_t page) const {
    const std::uint64_t* const set = keys_ + first_slot(page);
    for (std::uint32_t way = 0; way < ways_; ++way)
      if (set[way] == page + 1) return true;
    return false;
  }
  /// Replaces the oldest page of the set by `page`.
  void fill(std::uint64_t page) {
    std::uint8_t& next = next_[set_of(page)];
    keys_[first_slot(page) + next] = page + 1;
    next = static_cast<std::uint8_t>(next + 1u == ways_ ? 0 : next + 1u);
  }
  void clear() {
    for (std::uint32_t slot = 0; slot < (set_mask_ + 1) * ways_; ++slot) keys_[slot] = 0;
  }

 private:
  std::uint32_t set_of(std::uint64_t page) const { return static_cast<std::uint32_t>(page) & set_mask_; }
  std::uint32_t first_slot(std::uint64_t page) const { return set_of(page) * ways_; }

  std::uint32_t ways_, set_mask_;
  std::uint64_t* keys_;  // page + 1; 0: empty
  std::uint8_t* next_;   // by set, the way that is filled next
};

/// The ranges of lines where the program has huge pages.
class HugePages {
 public:
  static constexpr unsigned kMostRanges = 64;

  bool contains(LineAddr line) const {
    for (unsigned i = 0; i < count_; ++i)
      if (line.value >= range_[i].begin && line.value < range_[i].end) return true;
    return false;
  }
  /// The whole pages of 2 MB within [begin, end) are huge from now on. Ranges beyond kMostRanges are ignored.
  /// False if nothing changed.
  bool add(GuestAddr begin, GuestAddr end) {
    const std::uint64_t first = (begin.value + kHugeBytes - 1) / kHugeBytes * kHugeLines;
    const std::uint64_t last = end.value / kHugeBytes * kHugeLines;
    for (unsigned i = 0; i < count_; ++i)
      if (first >= range_[i].begin && last <= range_[i].end) return false;
    return add_lines(first, last);
  }
  /// No page within [begin, end) is huge any more. False if nothing changed.
  bool remove(GuestAddr begin, GuestAddr end) {
    const std::uint64_t first = begin.value / kLineBytes, last = (end.value + kLineBytes - 1) / kLineBytes;
    bool changed = false;
    for (unsigned i = count_; i-- > 0;) {
      const Range old = range_[i];
      if (first >= old.end || last <= old.begin) continue;
      changed = true;
      range_[i] = range_[--count_];
      // The rest of a huge page that is cut gets small pages.
      if (first > old.begin) add_lines(old.begin, first / kHugeLines * kHugeLines);
      if (last < old.end) add_lines((last + kHugeLines - 1) / kHugeLines * kHugeLines, old.end);
    }
    return changed;
  }

 private:
  static constexpr std::uint64_t kHugeBytes = 2 << 20;
  static constexpr std::uint64_t kHugeLines = kHugeBytes / kLineBytes;
  struct Range {
    std::uint64_t begin, end;  // lines
  };
  bool add_lines(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end || count_ == kMostRanges) return false;
    for (unsigned i = 0; i < count_; ++i) {
      if (begin > range_[i].end || end < range_[i].begin) continue;
      const Range other = range_[i];
      range_[i] = range_[--count_];
      return add_lines(begin < other.begin ? begin : other.begin, end > other.end ? end : other.end);
    }
    range_[count_++] = {begin, end};
    return true;
  }

  unsigned count_ = 0;
  Range range_[kMostRanges];
};

class Tlb {
 public:
  static constexpr unsigned kPageShift = 12 - kLineShift, kHugeShift = 21 - kLineShift;  // from lines

  static std::size_t bytes(const Description& d) {
    return TlbLevel::bytes(d.tlb.data_entries, d.tlb.data_ways) +
           TlbLevel::bytes(d.tlb.huge_entries, d.tlb.huge_ways) +
           TlbLevel::bytes(d.tlb.code_entries, d.tlb.code_ways) +
           TlbLevel::bytes(d.tlb.shared_entries, d.tlb.shared_ways);
  }

  void place(Arena& arena, const Description& d) {
    pages_.place(arena, d.tlb.data_entries, d.tlb.data_ways);
    huge_.place(arena, d.tlb.huge_entries, d.tlb.huge_ways);
    code_.place(arena, d.tlb.code_entries, d.tlb.code_ways);
    shared_.place(arena, d.tlb.shared_entries, d.tlb.shared_ways);
    shared_cycles_ = d.tlb.shared_latency_cycles;
    walk_cycles_ = d.tlb.walk_cycles;
    recent_page_ = kNoPage;
  }

  /// Cycles for translating the data page of `line`.
  std::uint32_t translate(LineAddr line, const HugePages& huge) {
    const std::uint64_t page = line.value >> kPageShift;
    if (page == recent_page_) return 0;
    recent_page_ = page;
    if (pages_.has(page)) return 0;
    if (!huge.contains(line)) {
      pages_.fill(page);
      return second_level(page);
    }
    const std::uint64_t huge_page = line.value >> kHugeShift;
    if (huge_.has(huge_page)) return 0;
    huge_.fill(huge_page);
    return second_level(huge_page | kIsHuge);
  }
  /// Empties the first level for data.
  void forget_data() {
    pages_.clear();
    huge_.clear();
    recent_page_ = kNoPage;
  }

  /// Cycles for translating the page of a line of code.
  std::uint32_t translate_code(LineAddr line) {
    const std::uint64_t page = line.value >> kPageShift;
    if (code_.has(page)) return 0;
    code_.fill(page);
    return second_level(page);
  }

 private:
  std::uint32_t second_level(std::uint64_t key) {
    if (shared_.has(key)) return shared_cycles_;
    shared_.fill(key);
    return shared_cycles_ + walk_cycles_;
  }

  static constexpr std::uint64_t kIsHuge = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kNoPage = ~std::uint64_t{0};

  std::uint64_t recent_page_;  // translated last; needs no search
  TlbLevel pages_, huge_, code_, shared_;
  std::uint32_t shared_cycles_, walk_cycles_;
};

}  // namespace elision::machine
