// SPDX-License-Identifier: Apache-2.0
// Keeps a CPU's filter (filter.h) in step with the L1 that it caches.
//
// Invariant: an entry that is not empty names the L1 slot that holds its line. An entry is therefore dropped
// when its line leaves that slot, when the CPU loses the permission, and when the line becomes hot. No `used`
// bit is lost: it moves to the way before its entry is dropped, and before replacement examines the way.
// Freestanding.
#pragma once

#include "machine/cache.h"
#include "machine/filter.h"

namespace elision::machine::fast_path {

/// Moves an entry's `used` bit to its way.
inline void collect(FilterEntry& entry, PrivateCache& l1) {
  if (!entry.used) return;
  entry.used = 0;
  l1.mark_used(entry.l1_slot());
}

/// Whether the entry names L1 slot `slot` and was used. Clears its `used` bit. Has no branch, because the
/// host could not predict it.
inline bool take_used(FilterEntry& entry, std::uint32_t slot) {
  const unsigned used = entry.names(slot) & entry.used;
  entry.used = static_cast<std::uint8_t>(entry.used & ~used);
  return used;
}

/// The entry for `line`, which is in L1 slot `slot`, or null.
inline FilterEntry* find(Filter& filter, const PrivateCache& l1, LineAddr line, std::uint32_t slot) {
  if (!(l1.state(slot).flags & kOpened)) return nullptr;
  FilterEntry& entry = filter.at(line);
  return entry.names(slot) ? &entry : nullptr;
}

inline void drop(FilterEntry& entry, PrivateCache& l1) {
  collect(entry, l1);
  entry.tag = FilterEntry::kEmpty;
  entry.named = 0;
}

/// `line`, in L1 slot `slot`, is no longer open to the fast path.
inline void forget(Filter& filter, PrivateCache& l1, LineAddr line, std::uint32_t slot) {
  if (FilterEntry* entry = find(filter, l1, line, slot)) drop(*entry, l1);
}

inline void forget_all(Filter& filter, PrivateCache& l1) {
  for (FilterEntry& entry : filter.entry) {
    if (entry.tag != FilterEntry::kEmpty) drop(entry, l1);
  }
}

/// Opens `line`, in L1 slot `slot`, to the fast path with `restrictions` in the current epoch.
inline void remember(Filter& filter, PrivateCache& l1, LineAddr line, std::uint32_t slot,
                     std::uint64_t restrictions, std::uint64_t arrival = 0) {
  FilterEntry& entry = filter.at(line);
  if (entry.tag != FilterEntry::kEmpty) collect(entry, l1);
  entry.tag = (start_of(line).value ^ filter.epoch) | restrictions;
  entry.used = 0;  // an access to the null page finds an empty entry and leaves a mark
  entry.named = static_cast<std::uint16_t>(slot + 1);
  entry.set_arrival(arrival);
  l1.state(slot).flags |= kOpened;
}

}  // namespace elision::machine::fast_path
