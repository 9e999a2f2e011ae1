// SPDX-License-Identifier: Apache-2.0
// The fast-path filter: what translated code looks at before every memory access.
//
// One filter a virtual CPU, direct-mapped by line address. An entry says "this CPU's modelled L1
// holds the line with this permission, the line is not hot, and (inside a transaction) it is
// already in the read or write set". A hit therefore needs no model call and no ordering; anything
// else takes the slow path. The filter only caches the model: switching it off changes no result.
//
// Tag of an entry: (line address in bytes) ^ epoch | permission, where permission is kReadWrite (0)
// or kReadOnly (1) and epoch is 0 outside transactions and (n << 48) inside the n-th transaction,
// so that entries made outside never match inside and the other way round. Translated code computes
//   x = ((address + size - 1) & ~63) ^ epoch ^ entry[(address >> 6) & kIndexMask].tag
// and hits if x == 0 (store) or x <= 1 (load). An access that straddles lines never hits, because
// index and tag then belong to different lines.
//
// The only thing the fast path writes is `used`: the model's L1 replacement reads it back.
// Freestanding; the layout is known to the translator.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elision::machine {

struct FilterEntry {
  static constexpr std::uint64_t kReadWrite = 0;
  static constexpr std::uint64_t kReadOnly = 1;
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  std::uint64_t tag = kEmpty;
  std::uint8_t used = 0;  // set to 1 by every fast-path hit
  std::uint8_t reserved = 0;
  std::uint16_t l1_slot = 0;  // set * ways + way in the modelled L1; the model's own
  std::uint32_t reserved2 = 0;
};
static_assert(sizeof(FilterEntry) == 16 && offsetof(FilterEntry, used) == 8);

struct Filter {
  static constexpr std::size_t kEntries = 4096;
  static constexpr std::size_t kIndexMask = kEntries - 1;

  FilterEntry entry[kEntries];
  std::uint64_t epoch = 0;  // see above; changed by the model at transaction begin and end
};

}  // namespace elision::machine
