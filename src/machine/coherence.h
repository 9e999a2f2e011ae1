// SPDX-License-Identifier: Apache-2.0
// The directory's part of an access: waiting for a line in flight, taking it from other cores, its latency.
#pragma once

#include <algorithm>

#include "machine/transactions.h"

namespace elision::machine {

/// How a line comes to the requester.
struct LineTransfer {
  std::uint64_t latency_cycles;
  bool moved;       // between CPUs: the line is hot
  bool from_owner;  // another core's cache supplies the data
  bool dirty;       // and the last level does not have it
  bool exclusive;   // the requester may write
};

class Coherence : public Transactions {
 public:
  using Transactions::Transactions;

  /// As Model has it; 0 if the line is not busy.
  std::uint64_t busy_until(const Request& request);
  void set_untouched(GuestAddr begin, GuestAddr end, bool untouched);
  /// No cache has the line any more, unless a transaction has it.
  void flush(LineAddr line);

 protected:
  /// True if the line is in flight to another CPU; `until` then says when to ask again, first come, first
  /// served. If it is in flight to
  /// this CPU alone (a store after its own load, say), the core goes on, but the request starts no sooner
  /// than `until`. A contended line is an exception: other CPUs that have asked for it by then are served
  /// between the core's load and its store, so the store must not execute early.
  bool must_wait(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t& until);
  /// The part of must_wait() that concerns the line alone: how a request queues at its home.
  bool must_queue(const Request& request, const Cpu& cpu, std::uint32_t entry, std::uint64_t& until);
  /// Whether a request of `cpu` for the line of `entry` concerns another core: its owner, and if the request
  /// takes the line from all others, its sharers.
  bool is_elsewhere(const Cpu& cpu, std::uint32_t entry, bool takes) const;
  /// The CPU whose store to the line is not visible yet, if this load may find the value from before it.
  Cpu* may_hide(const Request& request, const Cpu& cpu, std::uint32_t entry);
  /// The same if its line has arrived, so that the load finds that value now.
  Cpu* hides(const Request& request, const Cpu& cpu, std::uint32_t entry);
  /// The load takes the line from under that store, which gets it back later. Returns the load's latency.
  std::uint64_t pass_unseen_store(const Request& request, Cpu& cpu, std::uint32_t entry, Cpu& owner);
  /// When the access, if it takes a line from another core that goes on using it, gets there; 0 if it takes
  /// none, or is there. Until then nothing happens to the line.
  std::uint64_t travel(const Request& request, Cpu& cpu, std::uint32_t entry);
  /// How much of the transfer's latency the way of the access has taken.
  std::uint64_t time_on_the_way(const Request& request, const Cpu& cpu) const;
  /// When the core has begun to fetch the line, without what time_on_the_way() says.
  std::uint64_t begin_of_fetch(const Request& request, const Cpu& cpu) const;
  /// Tells the directory of the owner's last store. A CPU does not report a store to a line that its core
  /// has, so the directory asks the owner before `cpu` gets the line. The owner may run ahead: its stores
  /// after `now` do not count.
  void hear_of_stores(const Cpu& cpu, std::uint32_t entry, LineAddr line, std::uint64_t now);

  /// An entry for a line that is not in L3. kNoSlot if that would evict a line that the requester's own
  /// transaction needs.
  std::uint32_t allocate_entry(const Request& request, Cpu& cpu);
  /// No core has the line any more. L3 does, if it had: the operating system has cleared the new page.
  void take_from_cores(LineAddr line);
  /// All cores lose the line of `entry`.
  void invalidate_all(std::uint32_t entry);
  /// Gives `entry`, whose old line no transaction needs, to `line`.
  std::uint32_t replace_entry(LineAddr line, std::uint32_t entry);
  /// The latency of a line from L3 or memory, if no other core has to supply it.
  std::uint64_t fetch_cycles(const Cpu& cpu, LineAddr line, std::uint32_t entry, bool in_l3);

  /// A line comes to `cpu`'s core. Returns the cycles that it waits for other lines on its way.
  std::uint64_t wait_for_link(const Cpu& cpu, LineAddr line, std::uint64_t now, bool on_chip) {
    const std::uint64_t wait = l3_link[cpu.socket].enter(now);
    if (on_chip) return wait;
    const unsigned node = numa.several_nodes() ? numa.node_of(line, cpu.socket) : 0;
    return std::max(wait, memory_link[node].enter(now));
  }

  /// An access that leaves the line to others (takes_line): takes the permission to write from the CPU that
  /// has it. `nearest_cycles` is the latency if no other core has to supply the line.
  LineTransfer share(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t nearest_cycles);
  /// An access that takes the line from all other CPUs. `local`: the requester's core already has the
  /// data. `slot` and `l2_slot` are its place in L1 and L2.
  LineTransfer own(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t nearest_cycles,
                   bool local, std::uint32_t slot, std::uint32_t l2_slot);
  /// Notes a move between CPUs. Returns until when the line is hot.
  std::uint64_t note_transfer(const Request& request, std::uint32_t entry, const LineTransfer& transfer);
  /// The line is in flight to `cpu` until `arrival`. `to_readers`: it comes from L3 to be read.
  void note_flight(Cpu& cpu, std::uint32_t entry, const LineTransfer& transfer, bool to_readers,
                   std::uint64_t now, std::uint64_t arrival);

 private:
  bool takes_from_other_core(const Request& request, const Cpu& cpu, std::uint32_t entry) const;
  std::uint64_t begin_of_journey(const Request& request, const Cpu& cpu) const;
  Journey::At whereabouts(const Request& request, const Cpu& cpu) const;
  /// `owner` keeps the line for reading, and writes it back. False if it has no copy any more.
  bool give_up_ownership(Cpu& owner, LineAddr line, std::uint64_t hot_until, bool& dirty);
  /// Takes the line from one CPU, and from its core unless a sibling may still read it. False if the CPU had
  /// no copy.
  bool invalidate(Cpu& holder, LineAddr line, bool& dirty);
  std::uint64_t crossing_cycles(const Cpu& a, const Cpu& b) const {
    return a.socket == b.socket ? 0 : description.hop_cycles;
  }
};

}  // namespace elision::machine
