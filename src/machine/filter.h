// SPDX-License-Identifier: Apache-2.0
// The fast-path filter: what translated code looks at before every memory access.
//
// One filter a virtual CPU, direct-mapped by line address. An entry says "this CPU's modelled L1
// holds the line with this permission, the line is not hot, and (inside a transaction) it is
// already in the read or write set". A hit therefore needs no model call and no ordering; anything
// else takes the slow path. The filter only caches the model: switching it off changes no result.
//
// Tag of an entry: (line address in bytes) ^ epoch | restrictions, where the restrictions are bits that
// keep some accesses out (kNoStore, kInFlight) and epoch is 0 outside transactions and (n << 48) inside
// the n-th transaction, so that entries made outside never match inside and the other way round.
// Translated code computes
//   x = ((address + size - 1) & ~63) ^ epoch ^ entry[(address >> 6) & kIndexMask].tag
// and hits if x has no bit set but those that its kind of access tolerates (below). An access that
// straddles lines never hits, because index and tag then belong to different lines. An empty entry's tag
// is 0, which only the first line of the address space would match, where nothing is mapped.
//
// The only thing the fast path writes is `used`: the model's L1 replacement reads it back.
// Freestanding; the layout is known to the translator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace elision::machine {

struct FilterEntry {
  static constexpr std::uint64_t kEmpty = 0;
  static constexpr std::uint64_t kNoStore = 1;
  /// The data was on its way when the entry was made: a load whose value may become an address has to
  /// ask the model when it arrives. Others need not know.
  static constexpr std::uint64_t kInFlight = 2;

  /// The restrictions that do not matter to an access. `feeds_address`: the value that it loads may become
  /// one.
  static constexpr std::uint64_t tolerated(bool store, bool feeds_address) {
    return (store ? 0 : kNoStore) | (feeds_address ? 0 : kInFlight);
  }

  std::uint64_t tag;
  std::uint8_t used;  // set to 1 by every fast-path hit
  std::uint8_t arrival_high;
  std::uint16_t named;  // the slot of the modelled L1 that has the line, plus one; 0: the entry is empty
  std::uint32_t arrival_low;

  std::uint32_t l1_slot() const { return named - 1u; }
  bool names(std::uint32_t l1_slot) const { return named == l1_slot + 1; }

  /// How many cycles after `now` the data of a line in flight arrives; not above 0 if it has arrived. Only 40
  /// bits are kept: who gets a number above kFarAway has to ask the model, because the entry may be minutes
  /// old.
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
  /// Far more than L1 has lines, so that two of them rarely want the same entry; those that are not
  /// used take no host memory.
  static constexpr std::size_t kEntries = 16384;
  static constexpr std::size_t kIndexMask = kEntries - 1;

  std::uint64_t epoch;  // see above; changed by the model at transaction begin and end
  std::uint64_t reserved[7];
  FilterEntry entry[kEntries];

  /// Lines of code that L1I has. Libraries lie at the same places of their pages: upper bits go into the
  /// index too, so that they rarely want the same entry. The tag is what is above the lowest bits, plus one.
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
  /// What an access to `line` finds: 0 or restrictions if the line is open, something larger if not.
  std::uint64_t restrictions(LineAddr line) { return start_of(line).value ^ epoch ^ at(line).tag; }
  /// What translated code does for an access with these tolerances: true, and the line counts as used, if it
  /// need not ask.
  bool hit(LineAddr line, std::uint64_t tolerated) {
    if (restrictions(line) & ~tolerated) return false;
    at(line).used = 1;
    return true;
  }
  static constexpr std::uint64_t kNotOpen = ~(FilterEntry::kNoStore | FilterEntry::kInFlight);
};

}  // namespace elision::machine
