// SPDX-License-Identifier: Apache-2.0
// Prefetching: which lines an access suggests, and how they are fetched.
#pragma once

#include "machine/coherence.h"

namespace elision::machine {

class Prefetching : public Coherence {
 public:
  using Coherence::Coherence;

 protected:
  /// For an access that hits L2, or a load that hits L1: whether prefetch_after() would fetch a line that is
  /// in neither.
  bool prefetches_leave_core(const Request& request, const Cpu& cpu) const;
  /// After an access to `request.line` that missed L1, or a load that was the first use of a prefetched line.
  /// `stream_is_here`: L1 or L2 has the lines that the streamer asks for.
  void prefetch_after(const Request& request, Cpu& cpu, bool missed_l2, bool stream_is_here = false);
  /// Prefetches `line`: the request is made at `now`, and the fetch starts at `start`.
  void prefetch(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t start, bool into_l1);

 private:
  void prefetch_from_l2(Cpu& cpu, LineAddr line, std::uint32_t l2_slot, std::uint64_t now);
  /// The line can be fetched now. Other cores supply it only if prefetches snoop.
  bool may_prefetch(const Cpu& cpu, std::uint32_t entry, std::uint64_t now);
  /// An empty L1 slot for `line`. kNoSlot if a transaction needs the line there.
  std::uint32_t room_in_l1_for_prefetch(Cpu& cpu, LineAddr line);
};

}  // namespace elision::machine
