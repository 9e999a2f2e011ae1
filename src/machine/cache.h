// SPDX-License-Identifier: Apache-2.0
// A private cache (L1D or L2) of one core: which lines it holds and what each hardware thread of the
// core may do with them.
//
// Permissions are kept per hardware thread although the data is shared, so that an access that
// another thread can see is ordered even between two threads of one core. Replacement is the clock
// algorithm over one `used` bit a way: it needs only "was it used since I last looked", which is what
// the fast path can tell (filter.h). Freestanding.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/arena.h"
#include "machine/description.h"

namespace elision::machine {

inline constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
inline constexpr unsigned kMaxThreadsPerCore = 2;

/// Bits of WayState::flags; thread t of the core has the bit shifted left by t.
inline constexpr std::uint16_t kReadable = 1 << 0;
inline constexpr std::uint16_t kWritable = 1 << 2;
inline constexpr std::uint16_t kTransactionRead = 1 << 4;
inline constexpr std::uint16_t kTransactionWritten = 1 << 6;
inline constexpr std::uint16_t kOfOneThread = kReadable | kWritable | kTransactionRead | kTransactionWritten;
inline constexpr std::uint16_t kPermissions = 0xf;
/// Bits of the line as a whole.
inline constexpr std::uint16_t kDirty = 1 << 8;
inline constexpr std::uint16_t kUsed = 1 << 9;
inline constexpr std::uint16_t kOpened =
    1 << 10;  // had a filter entry since it came: others need no look there

/// Packed, because the states of a large L2 compete with the guest for the host's caches; 48 bits of cycles
/// are 34 hours at 2.3 GHz.
struct WayState {
  std::uint64_t arrival : 48;  // when the data is here; the way is filled when the request is made
  std::uint64_t flags : 16;
  std::uint64_t hot_until;  // the line moved between CPUs lately: every access is ordered until then

  /// Copies change their flags in the host's registers: a narrow store before a wide load of the same word
  /// would stall the host.
  WayState with_flags(std::uint64_t others) const { return {arrival, others & 0xffff, hot_until}; }
};
static_assert(sizeof(WayState) == 16);

class PrivateCache {
 public:
  void place(Arena& arena, const CacheDescription& description) {
    ways_ = description.ways;
    set_mask_ = description.sets() - 1;
    keys_ = arena.take<std::uint64_t>(description.lines());
    states_ = arena.take<WayState>(description.lines());
    hands_ = arena.take<std::uint8_t>(description.sets());
  }

  std::uint32_t sets() const { return set_mask_ + 1; }
  std::uint32_t ways() const { return ways_; }
  std::uint32_t lines() const { return sets() * ways_; }
  std::uint32_t set_of(LineAddr line) const { return static_cast<std::uint32_t>(line.value) & set_mask_; }

  /// The slot (set * ways + way) that holds `line`, or kNoSlot.
  std::uint32_t find(LineAddr line) const {
    return ways_ == kUsualWays ? find_among(line, kUsualWays) : find_among(line, ways_);
  }

  bool empty(std::uint32_t slot) const { return keys_[slot] == 0; }
  bool holds(std::uint32_t slot, LineAddr line) const { return keys_[slot] == key(line); }
  LineAddr line(std::uint32_t slot) const { return LineAddr(keys_[slot] - 1); }
  WayState& state(std::uint32_t slot) { return states_[slot]; }
  const WayState& state(std::uint32_t slot) const { return states_[slot]; }

  /// Where a new line of `set` goes: the first empty way, else the first that the clock finds unused.
  /// The way still holds its line. `look(slot)` is called before a way's `used` bit is read.
  template <class Look>
  std::uint32_t choose_victim(std::uint32_t set, Look look) {
    const std::uint32_t first = set * ways_;
    if (!(hands_[set] & kFull)) {
      for (std::uint32_t slot = first; slot != first + ways_; ++slot) {
        if (empty(slot)) return slot;
      }
      hands_[set] |= kFull;
    }
    std::uint32_t way = hands_[set] & kHand;
    for (;;) {
      const std::uint32_t slot = first + way;
      way = way + 1 == ways_ ? 0 : way + 1;
      look(slot);
      if (!(states_[slot].flags & kUsed)) {
        hands_[set] = static_cast<std::uint8_t>(way | kFull);
        return slot;
      }
      states_[slot].flags = static_cast<std::uint16_t>(states_[slot].flags & ~kUsed);
    }
  }
  std::uint32_t choose_victim(std::uint32_t set) {
    return choose_victim(set, [](std::uint32_t) {});
  }

  void put(std::uint32_t slot, LineAddr line, WayState state) {
    keys_[slot] = key(line);
    states_[slot] = state;
  }
  void remove(std::uint32_t slot) {
    hands_[set_of(line(slot))] &= kHand;
    keys_[slot] = 0;
    states_[slot].flags = 0;
  }

 private:
  // Zero means empty, so that untouched memory is an empty cache.
  static std::uint64_t key(LineAddr line) { return line.value + 1; }

  static constexpr std::uint32_t kUsualWays = 8;
  static constexpr std::uint8_t kFull = 0x80;  // no way of the set is empty
  static constexpr std::uint8_t kHand = 0x7f;

  /// Looks at every way: the host mispredicts an exit in the middle more often than not.
  [[gnu::always_inline]] std::uint32_t find_among(LineAddr line, std::uint32_t ways) const {
    const std::uint32_t first = set_of(line) * ways;
    const std::uint64_t* const keys = keys_ + first;
    const std::uint64_t wanted = key(line);
    std::uint32_t found = kNoSlot;
#pragma GCC unroll 8
    for (std::uint32_t way = 0; way < ways; ++way) found = keys[way] == wanted ? first + way : found;
    return found;
  }

  std::uint32_t ways_;
  std::uint32_t set_mask_;
  std::uint64_t* keys_;
  WayState* states_;
  std::uint8_t* hands_;
};

}  // namespace elision::machine
