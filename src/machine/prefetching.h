// SPDX-License-Identifier: Apache-2.0
// Prefetching: which lines an access suggests, and how they are fetched.
#pragma once

#include "machine/coherence.h"

namespace elision::machine {

class Prefetching : public Coherence {
 public:
  using Coherence::Coherence;

 protected:
  /// After an access to `request.line` that missed L1, or a load that was the first use of a prefetched line.
  void prefetch_after(const Request& request, Cpu& cpu, bool missed_l2);

  /// What prefetch_after() will do for an access that hits L2, or for a load that hits L1, if all of it stays
  /// within the core. Each line is looked up once.
  struct LocalPrefetches {
    Streamer::Step stream;
    struct {
      LineAddr line;
      std::uint32_t l2_slot;
    } from_l2[2];
    unsigned count = 0;
  };
  /// False if a prefetch leaves the core. Changes nothing of the model.
  bool plan_prefetches(const Request& request, const Cpu& cpu, LocalPrefetches& plan) const;
  /// The same as prefetch_after(). Since the plan was made, the core has made this access and nothing else.
  void prefetch_as_planned(const Request& request, Cpu& cpu, const LocalPrefetches& plan);
  /// Prefetches `line`: the request is made at `now`, and the fetch starts at `start`.
  void prefetch(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t start, bool into_l1);
  /// Copies `line`, in L2 slot `l2_slot`, to L1 at `now`, unless L1 has no room or no fill buffer is free.
  void prefetch_from_l2(Cpu& cpu, LineAddr line, std::uint32_t l2_slot, std::uint64_t now);

 private:
  bool strides(const Request& request) const {
    return description.prefetch.stride && request.instruction != 0;
  }
  std::uint64_t start_of_prefetch(const Request& request, const Cpu& cpu) const;
  /// The line can be fetched now. Other cores supply it only if prefetches snoop.
  bool may_prefetch(const Cpu& cpu, std::uint32_t entry, std::uint64_t now);
  /// An empty L1 slot for `line`. kNoSlot if a transaction needs the line there.
  std::uint32_t room_in_l1_for_prefetch(Cpu& cpu, LineAddr line);
};

}  // namespace elision::machine
