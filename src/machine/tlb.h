// SPDX-License-Identifier: Apache-2.0
// Translation of addresses by one core: a first level for data (4 KB and 2 MB pages apart) and one for code,
// a second level for all.
//
// Replacement is first in, first out: what the fast path (filter.h) swallows must not matter, or switching it
// off would change results. An entry of the filter promises that its page is translated; therefore each data
// entry knows the L1 sets of those of its lines that were opened, and the model closes them when the page
// goes. A program has huge pages where it asks for them (MADV_HUGEPAGE). Freestanding.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/arena.h"
#include "machine/description.h"

namespace elision::machine {

/// One level: which pages it translates.
class TlbLevel {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  static std::size_t bytes(std::uint32_t entries, std::uint32_t ways) {
    return entries * sizeof(std::uint64_t) + entries / ways + 2 * kLineBytes;
  }

  void place(Arena& arena, std::uint32_t entries, std::uint32_t ways) {
    ways_ = ways;
    set_mask_ = entries / ways - 1;
    keys_ = arena.take<std::uint64_t>(entries);
    next_ = arena.take<std::uint8_t>(entries / ways);
  }

  std::uint32_t find(std::uint64_t page) const {
    const std::uint32_t first = first_slot(page);
    for (std::uint32_t way = 0; way < ways_; ++way)
      if (keys_[first + way] == page + 1) return first + way;
    return kNone;
  }
  /// Puts `page` where the oldest of its set was; that one, if any, is still in `evicted_page`.
  std::uint32_t fill(std::uint64_t page, std::uint64_t& evicted_page, bool& evicted) {
    std::uint8_t& next = next_[set_of(page)];
    const std::uint32_t slot = first_slot(page) + next;
    next = static_cast<std::uint8_t>(next + 1u == ways_ ? 0 : next + 1u);
    evicted = keys_[slot] != 0;
    evicted_page = keys_[slot] - 1;
    keys_[slot] = page + 1;
    return slot;
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

/// Where the program has huge pages: a few ranges of lines, whole pages of 2 MB.
class HugePages {
 public:
  static constexpr unsigned kMostRanges = 64;

  bool contains(LineAddr line) const {
    for (unsigned i = 0; i < count_; ++i)
      if (line.value >= range_[i].begin && line.value < range_[i].end) return true;
    return false;
  }
  /// Whole huge pages within [begin, end) are huge from now on; beyond kMostRanges ranges nothing happens.
  /// False if nothing changed.
  bool add(GuestAddr begin, GuestAddr end) {
    const std::uint64_t first = (begin.value + kHugeBytes - 1) / kHugeBytes * kHugeLines;
    const std::uint64_t last = end.value / kHugeBytes * kHugeLines;
    for (unsigned i = 0; i < count_; ++i)
      if (first >= range_[i].begin && last <= range_[i].end) return false;
    return add_lines(first, last);
  }
  /// Nothing within [begin, end) is huge any more. False if nothing changed.
  bool remove(GuestAddr begin, GuestAddr end) {
    const std::uint64_t first = begin.value / kLineBytes, last = (end.value + kLineBytes - 1) / kLineBytes;
    bool changed = false;
    for (unsigned i = count_; i-- > 0;) {
      const Range old = range_[i];
      if (first >= old.end || last <= old.begin) continue;
      changed = true;
      range_[i] = range_[--count_];
      // What is left of a huge page that is cut has small ones.
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
           TlbLevel::bytes(d.tlb.shared_entries, d.tlb.shared_ways) +
           (d.tlb.data_entries + d.tlb.huge_entries) * sizeof(std::uint64_t) + 2 * kLineBytes;
  }

  void place(Arena& arena, const Description& d) {
    pages_.level.place(arena, d.tlb.data_entries, d.tlb.data_ways);
    pages_.opened = arena.take<std::uint64_t>(d.tlb.data_entries);
    huge_.level.place(arena, d.tlb.huge_entries, d.tlb.huge_ways);
    huge_.opened = arena.take<std::uint64_t>(d.tlb.huge_entries);
    code_.place(arena, d.tlb.code_entries, d.tlb.code_ways);
    shared_.place(arena, d.tlb.shared_entries, d.tlb.shared_ways);
    shared_cycles_ = d.tlb.shared_latency_cycles;
    walk_cycles_ = d.tlb.walk_cycles;
    recent_page_ = kNoPage;
  }

  /// True if the data page of `line` is translated; note_open() then means that line.
  bool has(LineAddr line, const HugePages& huge) {
    const std::uint64_t page = line.value >> kPageShift;
    if (page == recent_page_) return true;
    std::uint32_t slot = pages_.level.find(page);
    if (slot != TlbLevel::kNone) {
      recent_opened_ = &pages_.opened[slot];
    } else {
      if (!huge.contains(line)) return false;
      slot = huge_.level.find(line.value >> kHugeShift);
      if (slot == TlbLevel::kNone) return false;
      recent_opened_ = &huge_.opened[slot];
    }
    recent_page_ = page;
    return true;
  }

  /// The lines that the filter may have had open of a page that is no longer translated.
  struct Closed {
    std::uint64_t first_line = 0;
    std::uint64_t lines = 0;  // 0: there are none
    std::uint64_t sets = 0;   // of L1, modulo 64
    bool contains(LineAddr line) const { return line.value - first_line < lines; }
  };

  /// Translates the data page of `line`, which has() did not find. Returns the cycles that this takes.
  std::uint32_t fill(LineAddr line, const HugePages& huge, Closed& closed) {
    const bool is_huge = huge.contains(line);
    const unsigned shift = is_huge ? kHugeShift : kPageShift;
    const std::uint64_t page = line.value >> shift;
    First& first = is_huge ? huge_ : pages_;
    std::uint64_t old = 0;
    bool evicted = false;
    const std::uint32_t slot = first.level.fill(page, old, evicted);
    if (evicted && first.opened[slot] != 0)
      closed = {old << shift, std::uint64_t{1} << shift, first.opened[slot]};
    first.opened[slot] = 0;
    recent_opened_ = &first.opened[slot];
    recent_page_ = line.value >> kPageShift;
    return second_level(page, is_huge);
  }
  /// Translates no data page any more; nothing may be open to the filter.
  void forget_data() {
    pages_.level.clear();
    huge_.level.clear();
    recent_page_ = kNoPage;
  }
  /// The line that has() or fill() was called for last, in L1 set `set`, is open to the filter.
  void note_open(std::uint32_t set) { *recent_opened_ |= std::uint64_t{1} << (set % 64); }

  /// Cycles that it takes to translate the page of a line of code.
  std::uint32_t translate_code(LineAddr line) {
    const std::uint64_t page = line.value >> kPageShift;
    if (code_.find(page) != TlbLevel::kNone) return 0;
    std::uint64_t old;
    bool evicted;
    code_.fill(page, old, evicted);
    return second_level(page, false);
  }

 private:
  struct First {
    TlbLevel level;
    std::uint64_t* opened;
  };

  std::uint32_t second_level(std::uint64_t page, bool is_huge) {
    const std::uint64_t key = page | (is_huge ? std::uint64_t{1} << 62 : 0);
    if (shared_.find(key) != TlbLevel::kNone) return shared_cycles_;
    std::uint64_t old;
    bool evicted;
    shared_.fill(key, old, evicted);
    return shared_cycles_ + walk_cycles_;
  }

  static constexpr std::uint64_t kNoPage = ~std::uint64_t{0};

  std::uint64_t recent_page_;  // has() needs no search for it
  std::uint64_t* recent_opened_;
  First pages_, huge_;
  TlbLevel code_, shared_;
  std::uint32_t shared_cycles_, walk_cycles_;
};

}  // namespace elision::machine
