// SPDX-License-Identifier: Apache-2.0
// Prefetches: which lines a load suggests, and how they are fetched.
#pragma once

#include "machine/coherence.h"

namespace elision::machine {

class Prefetching : public Coherence {
 public:
  using Coherence::Coherence;

 protected:
  bool prefetches_leave_core(const Request& request, const Cpu& cpu) const;
  void prefetch_after(const Request& request, Cpu& cpu, bool missed_l2);
  void fetch_early(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t start, bool into_l1);

 private:
  void raise_early(Cpu& cpu, LineAddr line, std::uint32_t l2_slot, std::uint64_t now);
  bool may_share_early(const Cpu& cpu, std::uint32_t entry, std::uint64_t now);
  std::uint32_t room_in_l1_without_loss(Cpu& cpu, LineAddr line);
};

}  // namespace elision::machine
