// SPDX-License-Identifier: Apache-2.0
// Instruction fetch: L1I, and how lines of code come into it.
#pragma once

#include "machine/prefetching.h"

namespace elision::machine {

class InstructionFetch : public Prefetching {
 public:
  using Prefetching::Prefetching;

  Reply fetch(Cpu& cpu, LineAddr line, std::uint64_t now, Reach most);

 private:
  /// True if L1I or the core's L2 has the line. `clock` is then the CPU's clock after the fetch.
  bool fetch_within_core(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t& clock);
  /// A fetch that other CPUs can notice.
  Reply fetch_in_order(Cpu& cpu, LineAddr line, std::uint64_t now);
  /// The line comes into L1I at `ready`. Returns the CPU's clock then.
  std::uint64_t fill_l1i(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t ready);
  /// The CPU has nothing to execute until the line arrives at `ready`. Returns its clock then.
  std::uint64_t stall(Cpu& cpu, std::uint64_t now, std::uint64_t ready);
};

}  // namespace elision::machine
