// SPDX-License-Identifier: Apache-2.0
// A private cache (L1D, L1I or L2) of one core: which lines it holds, and what each hardware thread of the
// core may do with them.
//
// The threads of a core share the data, but each has its own permissions, so that accesses which the other
// thread can notice are ordered even within a core. Replacement (cache_sets.h) needs only one bit a line,
// "used since the last check", which the filter can set (filter.h). Freestanding.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/arena.h"
#include "machine/cache_sets.h"
#include "machine/description.h"

namespace elision::machine {

inline constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
inline constexpr unsigned kMaxThreadsPerCore = 2;

/// Bits of WayState::flags; thread t of the core has the bit shifted left by t.
inline constexpr std::uint16_t kReadable = 1 << 0;
inline constexpr std::uint16_t kWritable = 1 << 2;
inline constexpr std::uint16_t kTransactionRead = 1 << 4;
inline constexpr std::uint16_t kTransactionWritten = 1 << 6;
inline constexpr std::uint16_t kTransactional = 0xf << 4;
inline constexpr std::uint16_t kOfOneThread = kReadable | kWritable | kTransactionRead | kTransactionWritten;
inline constexpr std::uint16_t kPermissions = 0xf;
/// Bits of the line as a whole.
inline constexpr std::uint16_t kDirty = 1 << 8;
/// A filter has had an entry for the line since it came. If not, the filters need not be searched for it.
inline constexpr std::uint16_t kOpened = 1 << 9;
/// The line was prefetched and not used since. Its first use must ask the model.
inline constexpr std::uint16_t kPrefetched = 1 << 10;
/// The highest four bits are a hint in L1: the way that the line had in L2 when it came from there.
inline constexpr unsigned kL2WayShift = 12;

/// The state of a line in a way. Packed, because the states of a large L2 compete with the guest for the
/// host's caches. 48 bits of cycles are 34 hours at 2.3 GHz.
struct WayState {
  std::uint64_t arrival : 48;  // when the data is here; the way is filled when the request is made
  std::uint64_t flags : 16;
  std::uint64_t hot_until;  // the line moved between CPUs lately: every access is ordered until then
  /// The owner's last store, if the directory was not told: when it becomes visible, and how many cycles
  /// before that it executed. The directory reads this when another CPU asks for the line. (The store is
  /// forgotten if the line leaves L2 before it becomes visible, which takes a stream of misses.)
  std::uint64_t stored_until : 48;
  std::uint64_t stored_for : 16;

  void note_store(std::uint64_t executed, std::uint64_t visible) {
    constexpr std::uint64_t kMost = 0xffff;
    stored_until = visible;
    stored_for = visible - executed < kMost ? visible - executed : kMost;
  }
  void take_store_of(const WayState& other) {
    stored_until = other.stored_until;
    stored_for = other.stored_for;
  }
  /// A copy with other flags, made in the host's registers: a narrow store before a wide load of the same
  /// word would stall the host.
  WayState with_flags(std::uint64_t others) const { return moved(arrival, others); }
  /// The line as another cache of the core has it from `when` on.
  WayState moved(std::uint64_t when, std::uint64_t others) const {
    return {when, others & 0xffff, hot_until, stored_until, stored_for};
  }
};
static_assert(sizeof(WayState) == 24);

class PrivateCache {
 public:
  static constexpr unsigned kWayBits = 4;
  static_assert(kL2WayShift + kWayBits == 16, "a hint fills the flags");
  using Sets = CacheSets<1u << kWayBits>;

  static std::size_t bytes(const CacheDescription& description) {
    const std::size_t slots = std::size_t{description.sets()} << kWayBits;
    return slots * sizeof(Way) + Sets::bytes(description.sets()) + kLineBytes;
  }

  void place(Arena& arena, const CacheDescription& description) {
    set_mask_ = description.sets() - 1;
    set_bits_ = static_cast<unsigned>(__builtin_ctz(description.sets()));
    table_.place(arena, description.sets(), description.ways);
    slots_ = arena.take<Way>(slots());
  }

  std::uint32_t sets() const { return set_mask_ + 1; }
  /// A slot is set << kWayBits | way. With fewer than 16 ways, some numbers are not used.
  std::uint32_t slots() const { return sets() << kWayBits; }
  std::uint32_t set_of(LineAddr line) const { return static_cast<std::uint32_t>(line.value) & set_mask_; }

  /// The slot that holds `line`, or kNoSlot.
  std::uint32_t find(LineAddr line) const {
    const std::uint32_t set = set_of(line);
    const std::uint32_t first = set << kWayBits;
    const std::uint32_t way =
        table_.find(set, tag(line), [&](std::uint32_t one) { return slots_[first + one].key == key(line); });
    return way == Sets::kNoWay ? kNoSlot : first + way;
  }

  /// The same. Tries `way` of the set first, where the line usually is.
  std::uint32_t find(LineAddr line, std::uint32_t way) const {
    const std::uint32_t likely = set_of(line) << kWayBits | way;
    return holds(likely, line) ? likely : find(line);
  }
  /// The hint for a line in `slot` of L2.
  static std::uint64_t way_hint(std::uint32_t slot) { return (slot & ((1u << kWayBits) - 1)) << kL2WayShift; }

  bool empty(std::uint32_t slot) const { return slots_[slot].key == 0; }
  bool holds(std::uint32_t slot, LineAddr line) const { return slots_[slot].key == key(line); }
  LineAddr line(std::uint32_t slot) const { return LineAddr(slots_[slot].key - 1); }
  WayState& state(std::uint32_t slot) { return slots_[slot].state; }
  const WayState& state(std::uint32_t slot) const { return slots_[slot].state; }

  void mark_used(std::uint32_t slot) { table_.mark_used(slot >> kWayBits, way_of(slot)); }
  bool used(std::uint32_t slot) const { return table_.used(slot >> kWayBits, way_of(slot)); }

  /// Where a new line of `set` goes; the slot may still hold another line. `take_used(slot)` returns and
  /// clears the `used` bits that filters keep for the slot.
  template <class TakeUsed>
  [[gnu::always_inline]] std::uint32_t choose_victim(std::uint32_t set, TakeUsed take_used) {
    const std::uint32_t first = set << kWayBits;
    return first + table_.choose_victim(set, [&](std::uint32_t way) { return take_used(first + way); });
  }
  std::uint32_t choose_victim(std::uint32_t set) { return (set << kWayBits) + table_.choose_victim(set); }

  /// The line comes into the slot, used.
  void put(std::uint32_t slot, LineAddr line, WayState state) {
    table_.fill(slot >> kWayBits, way_of(slot), tag(line));
    slots_[slot].key = key(line);
    slots_[slot].state = state;
  }
  void remove(std::uint32_t slot) {
    table_.clear(slot >> kWayBits, way_of(slot));
    slots_[slot].key = 0;
    slots_[slot].state.flags = 0;
  }

 private:
  /// Half a line of the host, so that a way lies in one line.
  struct Way {
    std::uint64_t key;  // 0: empty, so that untouched memory is an empty cache
    WayState state;
  };
  static_assert(sizeof(Way) == 32);

  static std::uint64_t key(LineAddr line) { return line.value + 1; }
  std::uint64_t tag(LineAddr line) const { return line.value >> set_bits_; }
  std::uint32_t way_of(std::uint32_t slot) const { return slot & ((1u << kWayBits) - 1); }

  Sets table_;
  std::uint32_t set_mask_;
  unsigned set_bits_;
  Way* slots_;
};

}  // namespace elision::machine
