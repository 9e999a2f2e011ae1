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
  bool fetch_within_core(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t& clock);
  Reply fetch_in_order(Cpu& cpu, LineAddr line, std::uint64_t now);
  std::uint64_t fetched(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t ready);
  std::uint64_t stand_still(Cpu& cpu, std::uint64_t now, std::uint64_t ready);
};

}  // namespace elision::machine
