// SPDX-License-Identifier: Apache-2.0
// Which addresses the guest has mapped, and how. Pure bookkeeping: calls nothing.
//
// Invariants: regions are disjoint, page-aligned, not empty; neighbours with equal properties are one
// region.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "vm/interface/guest_layout.h"

namespace elision::vm {

enum class RegionUse : std::uint8_t { kMapping, kHeap, kStack, kForeign };  // kForeign: not the guest's

struct RegionProperties {
  bool executable = false;
  bool shared = false;  // MAP_SHARED: other processes may see it
  RegionUse use = RegionUse::kMapping;
  bool writable = false;
  friend bool operator==(const RegionProperties&, const RegionProperties&) = default;
};

struct Region {
  std::uint64_t end;
  RegionProperties properties;
};

class RegionMap {
 public:
  using Map = std::map<std::uint64_t, Region>;

  /// Records [begin, end), replacing what was there.
  void add(std::uint64_t begin, std::uint64_t end, RegionProperties properties);
  void remove(std::uint64_t begin, std::uint64_t end);
  void set_permissions(std::uint64_t begin, std::uint64_t end, bool executable, bool writable);

  /// True if every byte of [begin, end) belongs to the guest.
  bool covers(std::uint64_t begin, std::uint64_t end) const;
  /// True if no byte of [begin, end) is recorded.
  bool is_free(std::uint64_t begin, std::uint64_t end) const;
  bool any_executable(std::uint64_t begin, std::uint64_t end) const;
  /// The region that holds `address`.
  std::optional<std::pair<std::uint64_t, Region>> find(std::uint64_t address) const;
  /// Start of the first region at or behind `address`, or `limit`.
  std::uint64_t next_start(std::uint64_t address, std::uint64_t limit) const;

  /// Lowest aligned address in [low, high) with `size` free bytes; 0 if there is none.
  std::uint64_t find_free(std::uint64_t low, std::uint64_t high, std::uint64_t size,
                          std::uint64_t alignment = kPageBytes) const;

  const Map& regions() const { return regions_; }
  /// Grows with every change.
  std::uint64_t changes() const { return changes_; }
  /// Bytes that the guest has mapped, touched or not.
  std::uint64_t mapped_bytes() const;

 private:
  void split(std::uint64_t address);
  void merge(std::uint64_t begin, std::uint64_t end);

  Map regions_;
  std::uint64_t changes_ = 0;
};

}  // namespace elision::vm
