// SPDX-License-Identifier: Apache-2.0
// The directory's part of an access: waiting for a line in flight, taking it from other cores, its latency.
#pragma once

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

 protected:
  bool must_wait(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t& until);
  void hear_of_stores(const Cpu& cpu, std::uint32_t entry, LineAddr line, std::uint64_t now);

  std::uint32_t allocate_entry(const Request& request, Cpu& cpu);
  std::uint32_t replace_entry(LineAddr line, std::uint32_t entry);
  std::uint64_t fetch_cycles(const Cpu& cpu, LineAddr line, std::uint32_t entry, bool in_l3);

  LineTransfer share(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t nearest_cycles);
  LineTransfer own(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t nearest_cycles,
                   bool local, std::uint32_t slot, std::uint32_t l2_slot);
  std::uint64_t note_transfer(const Request& request, std::uint32_t entry, const LineTransfer& transfer);
  void note_flight(Cpu& cpu, std::uint32_t entry, const LineTransfer& transfer, bool to_readers,
                   std::uint64_t now, std::uint64_t arrival);

 private:
  bool give_up_ownership(Cpu& owner, LineAddr line, std::uint64_t hot_until, bool& dirty);
  bool invalidate(Cpu& holder, LineAddr line, bool& dirty);
  std::uint64_t crossing_cycles(const Cpu& a, const Cpu& b) const {
    return a.socket == b.socket ? 0 : description.hop_cycles;
  }
};

}  // namespace elision::machine
