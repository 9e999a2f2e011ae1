// SPDX-License-Identifier: Apache-2.0
// The L3 of every socket, and in the same array the directory: for each line its sharers, its owner, until
// when it is in flight, when it last moved between CPUs, and which running transactions have it in their
// sets.
//
// Invariants: a line in any L1 or L2 has an entry (inclusion); a CPU that may read a line in its caches is
// among the sharers; a CPU that may write it is the owner. The reverse need not hold: caches drop lines
// silently, as real ones do, so owner and sharers may name CPUs that no longer have the line. An
// entry in a transaction's read or write set is not reused before that transaction has ended.
//
// A line has one entry, in the part of the socket that fetched it first. Copies in the inclusive L3 of other
// sockets are not modelled: they take no room there. If L3 is not inclusive, the table has room for the lines
// of L3 and of all L2 together; a line with an entry is in L3 if no L2 has it.
//
// An entry has 32 bytes within one line of the host. Pages of entries that the guest does not use are never
// touched. Times have 48 bits, which is 34 hours at 2.3 GHz. Freestanding.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/arena.h"
#include "machine/cache.h"
#include "machine/cpu_mask.h"
#include "machine/description.h"

namespace elision::machine {

inline constexpr unsigned kNoCpu = 0xff;

/// The transactions that have one line in their read or write sets.
struct ReadWriteSets {
  CpuMask readers;
  std::uint32_t slot;    // of the directory
  std::uint32_t writer;  // kNoCpu or the CPU; a writer need not be among the readers
  std::uint32_t next_free;

  bool empty() const { return readers.empty() && writer == kNoCpu; }
  bool has(unsigned cpu) const { return writer == cpu || readers.has(cpu); }
};

class Directory {
 public:
  using Sets = CacheSets<24>;
  /// A tag has 31 bits beside its set, and lines of user memory have 41.
  static constexpr std::uint32_t kLeastSetsInSlice = 1024;

  struct Entry {
    std::uint64_t sharers_low;
    std::uint64_t busy_until : 48;    // the line is in flight until then
    std::uint64_t owner : 8;          // the one CPU that may write, or kNoCpu
    std::uint64_t shared_flight : 1;  // in flight to readers only: further readers need not wait
    std::uint64_t : 1;
    std::uint64_t moved : 1;      // last_transfer is valid
    std::uint64_t contended : 1;  // the last two transfers followed each other closely
    std::uint64_t in_sets : 1;    // has ReadWriteSets
    std::uint64_t : 3;
    std::uint64_t last_transfer : 48;
    std::uint64_t flight : 8;   // while busy: the one CPU that the line is in flight to, or kNoCpu
    std::uint64_t waiting : 8;  // while busy: requests that were told to come back when it is not
    std::uint32_t tag;          // which of the set's lines; 0: none
    std::uint32_t sets_index;   // index of its ReadWriteSets, if `in_sets`

    /// Those who wait come back and are told anew.
    void prolong(std::uint64_t until) {
      if (until <= busy_until) return;
      busy_until = until;
      waiting = 0;
    }
    /// A store of `cpu` to the line becomes visible at `when`. Until then others wait.
    void note_store(unsigned cpu, std::uint64_t when) {
      prolong(when);
      shared_flight = 0;
      flight = cpu;
    }
  };
  static_assert(sizeof(Entry) == 32);

  /// Slices of one socket.
  static std::uint32_t slices(const Description& d) {
    if (d.l3_inclusive) return d.l3_slices;
    const std::uint32_t all_l2 = d.l2.lines() * d.topology.cores;
    return d.l3_slices + static_cast<std::uint32_t>(std::uint64_t{d.l3_slices} * all_l2 / d.l3.lines());
  }
  /// Entries of all sockets.
  static std::size_t lines(const Description& d) {
    return std::size_t{d.l3.lines() / d.l3_slices} * slices(d) * d.topology.sockets;
  }
  static std::size_t bytes(const Description& d) {
    const std::size_t lines = Directory::lines(d);
    return lines * (sizeof(Entry) + sizeof(std::uint64_t)) + (lines + 1) * sizeof(ReadWriteSets) +
           Sets::bytes(static_cast<std::uint32_t>(lines / d.l3.ways)) + 8 * kLineBytes;
  }

  void place(Arena& arena, const Description& d) {
    ways_ = d.l3.ways;
    slices_ = slices(d);
    sockets_ = d.topology.sockets;
    slice_reciprocal_ = ~std::uint64_t{0} / slices_ + 1;
    sets_per_slice_ = d.l3.lines() / (ways_ * d.l3_slices);
    sets_per_socket_ = sets_per_slice_ * slices_;
    set_bits_ = static_cast<unsigned>(__builtin_ctz(sets_per_slice_));
    sets_ = sets_per_socket_ * sockets_;
    slots_ = sets_ * ways_;
    entries_ = arena.take<Entry>(slots_);
    sharers_high_ = d.topology.cpus() > 64 ? arena.take<std::uint64_t>(slots_) : nullptr;
    read_write_sets_ = arena.take<ReadWriteSets>(slots_ + 1);
    table_.place(arena, sets_, ways_);
  }

  std::uint32_t slots() const { return slots_; }

  [[gnu::always_inline]] std::uint32_t find(LineAddr line) const {
    for (std::uint32_t set = set_of(line); set < sets_; set += sets_per_socket_) {
      const std::uint32_t way = find_way(set, line);
      if (way != Sets::kNoWay) return way * sets_ + set;
    }
    return kNoSlot;
  }
  // use() reads a set and then an entry, and mostly waits for both of them.
  /// Prefetches the set of `line` into the host's caches.
  void prefetch_set(LineAddr line) const { table_.prefetch(set_of(line)); }
  /// Prefetches the entry of `line`: that of the first way whose 8-bit tag matches, which may be another
  /// line's. Reads the set.
  void prefetch_entry(LineAddr line) const {
    const std::uint32_t set = set_of(line);
    const std::uint32_t way = table_.find(set, tag_of(line), [](std::uint32_t) { return true; });
    if (way != Sets::kNoWay) __builtin_prefetch(&entries_[way * sets_ + set]);
  }

  /// find() for an access: the line counts as used.
  [[gnu::always_inline]] std::uint32_t use(LineAddr line) {
    for (std::uint32_t set = set_of(line); set < sets_; set += sets_per_socket_) {
      const std::uint32_t way = find_way(set, line);
      if (way == Sets::kNoWay) continue;
      table_.mark_used(set, way);
      return way * sets_ + set;
    }
    return kNoSlot;
  }
  /// The socket whose part of the table the slot is in.
  unsigned socket(std::uint32_t slot) const { return sockets_ == 1 ? 0 : slot % sets_ / sets_per_socket_; }

  bool empty(std::uint32_t slot) const { return entries_[slot].tag == 0; }
  /// The line in a slot that is not empty. Tag and set identify it exactly.
  LineAddr line(std::uint32_t slot) const {
    const std::uint64_t low = (slot % sets_) & (sets_per_slice_ - 1);
    return LineAddr((std::uint64_t{entries_[slot].tag - 1} << set_bits_) | low);
  }
  Entry& entry(std::uint32_t slot) { return entries_[slot]; }
  const Entry& entry(std::uint32_t slot) const { return entries_[slot]; }

  CpuMask sharers(std::uint32_t slot) const {
    return CpuMask(entries_[slot].sharers_low, sharers_high_ ? sharers_high_[slot] : 0);
  }
  void set_sharers(std::uint32_t slot, const CpuMask& sharers) {
    entries_[slot].sharers_low = sharers.low();
    if (sharers_high_) sharers_high_[slot] = sharers.high();
  }

  /// Where `line` goes in the part of `socket`: an empty way of its set, or the clock's choice. The caller
  /// takes the old line out of all caches and transactions, then calls put().
  std::uint32_t choose_victim(LineAddr line, unsigned socket) {
    const std::uint32_t set = set_of(line) + socket * sets_per_socket_;
    return table_.choose_victim(set) * sets_ + set;
  }

  /// Requires that no cache has the slot's old line and that it is in no transaction's sets.
  void put(std::uint32_t slot, LineAddr line) {
    table_.fill(slot % sets_, slot / sets_, tag_of(line));
    entries_[slot] = Entry{};
    entries_[slot].tag = tag_of(line);
    entries_[slot].owner = kNoCpu;
    entries_[slot].flight = kNoCpu;
    if (sharers_high_) sharers_high_[slot] = 0;
  }
  /// No cache has the line, and no transaction.
  void remove(std::uint32_t slot) {
    table_.clear(slot % sets_, slot / sets_);
    entries_[slot] = Entry{};
  }

  /// The read and write sets that the line of a slot is in, or null.
  ReadWriteSets* read_write_sets(std::uint32_t slot) {
    return entries_[slot].in_sets ? &read_write_sets_[entries_[slot].sets_index] : nullptr;
  }
  const ReadWriteSets* read_write_sets(std::uint32_t slot) const {
    return const_cast<Directory*>(this)->read_write_sets(slot);
  }
  ReadWriteSets& read_write_sets_by_index(std::uint32_t index) { return read_write_sets_[index]; }
  const ReadWriteSets& read_write_sets_by_index(std::uint32_t index) const { return read_write_sets_[index]; }
  std::uint32_t read_write_sets_index(std::uint32_t slot) const { return entries_[slot].sets_index; }

  /// The same. Makes them if there are none.
  ReadWriteSets& make_read_write_sets(std::uint32_t slot) {
    if (!entries_[slot].in_sets) {
      std::uint32_t index = free_sets_;
      if (index != 0) {
        free_sets_ = read_write_sets_[index].next_free;
      } else {
        index = ++sets_ever_used_;
      }
      read_write_sets_[index] = ReadWriteSets{CpuMask(), slot, kNoCpu, 0};
      entries_[slot].sets_index = index;
      entries_[slot].in_sets = 1;
    }
    return read_write_sets_[entries_[slot].sets_index];
  }
  /// Frees `sets` if no transaction is left in them.
  void release_if_empty(ReadWriteSets& sets) {
    if (!sets.empty()) return;
    const std::uint32_t index = entries_[sets.slot].sets_index;
    entries_[sets.slot].in_sets = 0;
    sets.next_free = free_sets_;
    free_sets_ = index;
  }

 private:
  // A slot is way * sets + set: neighbouring lines have neighbouring entries, which is good for the host's
  // caches and TLB.
  std::uint32_t find_way(std::uint32_t set, LineAddr line) const {
    const std::uint32_t wanted = tag_of(line);
    return table_.find(set, wanted,
                       [&](std::uint32_t way) { return entries_[way * sets_ + set].tag == wanted; });
  }

  /// Zero means empty; user addresses are below 2^47, so a tag fits 31 bits.
  std::uint32_t tag_of(LineAddr line) const {
    return static_cast<std::uint32_t>(line.value >> set_bits_) + 1;
  }

  /// The slice is a sum of shifted address bits modulo the number of slices. The low bits are the index
  /// within the slice. Pages spread evenly over slices, and strides of a power of two do not all fall into
  /// one. (The real hash is not published for this number of slices. It also spreads the lines of a page.
  /// With one latency for all slices a program cannot tell, and this way the host finds a page's entries side
  /// by side.)
  std::uint32_t set_of(LineAddr line) const {
    const std::uint32_t low = static_cast<std::uint32_t>(line.value) & (sets_per_slice_ - 1);
    const std::uint32_t high = static_cast<std::uint32_t>(line.value >> set_bits_);
    const std::uint32_t mixed =
        high + (high >> 4) + (high >> 9) + (high >> 14) + (high >> 19) + (((low >> 6) * 0x9e3779b1u) >> 20);
    return slice(mixed) * sets_per_slice_ + low;
  }
  /// `mixed` modulo the number of slices by two multiplications (Lemire, Kaser, Kurz, 2019).
  std::uint32_t slice(std::uint32_t mixed) const {
    const std::uint64_t fraction = slice_reciprocal_ * mixed;
    return static_cast<std::uint32_t>((static_cast<unsigned __int128>(fraction) * slices_) >> 64);
  }

  std::uint32_t ways_, slices_, sockets_, sets_per_slice_, sets_per_socket_, slots_, sets_;
  unsigned set_bits_;
  std::uint64_t slice_reciprocal_;
  Entry* entries_;
  std::uint64_t* sharers_high_;     // null if no CPU is numbered above 63
  ReadWriteSets* read_write_sets_;  // [0] is unused
  Sets table_;
  std::uint32_t free_sets_ = 0;
  std::uint32_t sets_ever_used_ = 0;
};

}  // namespace elision::machine
