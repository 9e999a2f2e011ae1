// SPDX-License-Identifier: Apache-2.0
// One data access of one CPU, from the look-ups in its core to the reply. The topmost part of the model.
#pragma once

#include "machine/instruction_fetch.h"

namespace elision::machine {

class Access : public InstructionFetch {
 public:
  using InstructionFetch::InstructionFetch;

  Reply access(Request request);

  // --- early_requests.cc ---
  /// A transaction of `cpu` has begun at `now`. If it repeats an aborted one, reads and requests the lines
  /// that the earlier tries touched first.
  void repeat_first_lines(Cpu& cpu, Cycles now);
  /// Serves the early request that is due next.
  void arrive();
  void forget_tries();

 private:
  /// The slots that hold a line in L1 and L2, if they were looked up already.
  struct Lookup {
    static constexpr std::uint32_t kNotLookedUp = ~std::uint32_t{0} - 1;
    std::uint32_t l1_slot = kNotLookedUp;
    std::uint32_t l2_slot = kNotLookedUp;
  };

  // --- access.cc: accesses that the core completes by itself ---
  bool hits_l1_locally(const Request& request, const Cpu& cpu, std::uint32_t l1_slot) const;
  Reply hit_l1_locally(const Request& request, Cpu& cpu, std::uint32_t l1_slot);
  bool stays_in_core(const Request& request, const Cpu& cpu, Lookup& found, LocalPrefetches& plan) const;
  template <Reach reach>
  Reply perform(Request& request, Cpu& cpu, Lookup& found, const LocalPrefetches& plan);
  std::uint64_t stalled_until(const Request& request, Cpu& cpu);
  std::uint64_t fault_in(const Request& request, Cpu& cpu);
  Cycles translate(const Request& request, Cpu& cpu);
  Reply hit_l1(const Request& request, Cpu& cpu, std::uint32_t slot, bool& was_prefetched);
  Reply hit_l2(const Request& request, Cpu& cpu, std::uint32_t l2_slot);

  // --- coherent_access.cc: the CPU lacks the line or the permission ---
  /// Where the line is before the access, and the entry and slots that it has afterwards.
  struct Place {
    std::uint32_t entry, l1_slot, l2_slot;
    bool in_l3 = false, in_l1 = false;
    bool in_core = false;  // in L1 or L2
    bool takes = false;    // the access takes the line from all others
  };
  Reply coherent_access(const Request& request, Cpu& cpu, std::uint32_t l1_slot, std::uint32_t l2_slot);
  bool make_room(const Request& request, Cpu& cpu, Place& place);
  void put_into_room(const Request& request, Cpu& cpu, Place& place);
  void grant(Cpu& cpu, const Place& place, const LineTransfer& transfer, std::uint64_t arrival,
             std::uint64_t hot_until);

  LineTransfer transfer_line(const Request& request, Cpu& cpu, Place& place, std::uint64_t& hot_until);

  // --- early_requests.cc ---
  std::uint64_t wait_for_early_request(const Request& request, Cpu& cpu);
  void take_early(Cpu& cpu, const EarlyRequest& early);
  void set_next_arrival();

  // --- access.cc: the end of every access ---
  std::uint64_t arrival_of_hit(const Request& request, const WayState& state) const;
  std::uint64_t arrival_of_miss(const Request& request, Cpu& cpu, std::uint64_t earliest,
                                std::uint64_t latency);
  void note_atomic(const Request& request, Cpu& cpu) const;
  void note_wait(Cpu& cpu, std::uint64_t end) const;
  Reply load_old(const Request& request, Cpu& cpu, std::uint32_t entry, Cpu& owner);
  bool note_unseen(const Request& request, Cpu& cpu, std::uint32_t slot, std::uint64_t arrival,
                   std::uint64_t visible);
  Reply complete(const Request& request, Cpu& cpu, std::uint32_t l1_slot, std::uint32_t entry,
                 std::uint64_t ready);
  void open_to_filter(const Request& request, Cpu& cpu, std::uint32_t l1_slot);
};

}  // namespace elision::machine
