// SPDX-License-Identifier: Apache-2.0
// The filter of a virtual CPU, which translated code looks up before every memory access.
//
// It is direct-mapped by line address. An entry says: this CPU's modelled L1 holds the line with this
// permission, the line is not hot, and inside a transaction it is already in the read or write set. A hit
// therefore needs no model call and no ordering. Any other access takes the slow path. The filter only caches
// what the model knows: without it, results are the same.
//
// The tag of an entry is (line address in bytes) ^ epoch | restrictions. The restrictions are bits that
// exclude some accesses (kNoStore, kInFlight). The epoch is 0 outside transactions and (n << 48) inside the
// n-th transaction, so an entry that was made outside never matches inside, and the reverse. Translated code
// computes
//   x = ((address + size - 1) & ~63) ^ epoch ^ entry[(address >> 6) & kIndexMask].tag
// and hits if x has no bits other than those that its kind of access tolerates (below). An access that
// straddles lines never hits, because its index and its tag belong to different lines. An empty entry has tag
// 0, which only the first line of the address space would match; nothing is mapped there.
//
// Translated code writes only `used`, which the model's L1 replacement reads.
// Freestanding. The translator knows the layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace elision::machine {

struct FilterEntry {
  static constexpr std::uint64_t kEmpty = 0;
  static constexpr std::uint64_t kNoStore = 1;
  /// The data was on its way when the entry was made. A load whose value may become an address must ask the
  /// model when it arrives; other accesses need not know.
  static constexpr std::uint64_t kInFlight = 2;

  /// The restrictions that do not exclude an access. `feeds_address`: the loaded value may become an address.
  static constexpr std::uint64_t tolerated(bool store, bool feeds_address) {
    return (store ? 0 : kNoStore) | (feeds_address ? 0 : kInFlight);
  }

  std::uint64_t tag;
  std::uint8_t used;  // set to 1 by every fast-path hit
  std::uint8_t arrival_high;
  std::uint16_t named;  // the L1 slot that has the line, plus one; 0: the entry is empty
  std::uint32_t arrival_low;

  std::uint32_t l1_slot() const { return named - 1u; }
  bool names(std::uint32_t l1_slot) const { return named == l1_slot + 1; }

  /// The cycles from `now` until the data of a line in flight arrives; 0 or less if it has arrived. The entry
  /// keeps only 40 bits of the time, and it may be minutes old. If the result is above kFarAway, ask the
  /// model.
  static constexpr std::int64_t kFarAway = 1 << 24;
  std::int64_t cycles_to_arrival(std::uint64_t now) const {
    const std::uint64_t kept = std::uint64_t{arrival_high} << 32 | arrival_low;
    return static_cast<std::int64_t>((kept - now) << 24) >> 24;
  }
  void set_arrival(std::uint64_t arrival) {
    arrival_low = static_cast<std::uint32_t>(arrival);
    arrival_high = static_cast<std::uint8_t>(arrival >> 32);
  }
};
static_assert(sizeof(FilterEntry) == 16 && offsetof(FilterEntry, used) == 8);

/// Made in zeroed memory: a constructor would touch every page of it.
struct Filter {
  /// Far more entries than L1 has lines, so that two lines rarely share an entry. Pages of unused entries
  /// take no host memory.
  static constexpr std::size_t kEntries = 16384;
  static constexpr std::size_t kIndexMask = kEntries - 1;

  std::uint64_t epoch;  // see above; changed by the model at transaction begin and end
  std::uint64_t reserved[7];
  FilterEntry entry[kEntries];

  /// Lines of code that L1I has. The index also uses upper bits of the address, because libraries begin at
  /// page boundaries and would otherwise share entries. The tag is the address without its lowest bits, plus
  /// one.
  static constexpr std::size_t kCodeEntries = 4096;
  static constexpr unsigned kCodeTagShift = 10;
  std::uint32_t code[kCodeEntries];

  static constexpr std::size_t code_index(LineAddr line) {
    return (line.value ^ line.value >> 7 ^ line.value >> 15) % kCodeEntries;
  }
  static constexpr std::uint32_t code_tag(LineAddr line) {
    return static_cast<std::uint32_t>(line.value >> kCodeTagShift) + 1;
  }
  bool has_code(LineAddr line) const { return code[code_index(line)] == code_tag(line); }
  void open_code(LineAddr line) { code[code_index(line)] = code_tag(line); }
  void close_code(LineAddr line) {
    if (has_code(line)) code[code_index(line)] = 0;
  }

  FilterEntry& at(LineAddr line) { return entry[line.value & kIndexMask]; }
  /// 0 or restrictions if the line is open, a larger number if not.
  std::uint64_t restrictions(LineAddr line) { return start_of(line).value ^ epoch ^ at(line).tag; }
  /// The look-up as translated code makes it. True on a hit; the line then counts as used.
  bool hit(LineAddr line, std::uint64_t tolerated) {
    if (restrictions(line) & ~tolerated) return false;
    at(line).used = 1;
    return true;
  }
  static constexpr std::uint64_t kNotOpen = ~(FilterEntry::kNoStore | FilterEntry::kInFlight);
};

}  // namespace elision::machine
