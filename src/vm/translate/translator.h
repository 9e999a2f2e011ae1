// SPDX-License-Identifier: Apache-2.0
// Translates guest basic blocks into the code cache.
//
// Ordinary instructions are copied. In front of each memory access stands an access check: the inlined filter
// lookup (machine/filter.h), with its slow path out of line. Each block begins with the budget
// check; branches are chained. Guest registers live in the host registers of the same name; scratch
// registers of an access check are dead ones, or are spilled to the Cpu.
//
// Invariants: at each point where the engine may take over (an access check's retry and done address, a full
// exit) all guest registers are exact but for those that liveness proved dead; flags too. Nothing is
// ever written below or above the guest's stack pointer but what the guest's instruction writes.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/description.h"
#include "vm/code/code_cache.h"
#include "vm/code/emitter.h"
#include "vm/cpu/stubs.h"
#include "vm/decode/guest_code.h"
#include "vm/translate/block_cost.h"

namespace elision::vm {

class Translator {
 public:
  Translator(CodeCache& cache, GuestCode& code, const machine::Description& machine)
      : cache_(cache), code_(code), machine_(machine) {}

  /// Translates the block at `pc`, of at most so many instructions; the cache must have room
  /// (CodeCache::nearly_full). Null, and nothing is left behind, if its first instruction cannot be fetched.
  const Block* translate(std::uint64_t pc, std::size_t most = GuestCode::kMaxInstructions);

 private:
  CodeCache& cache_;
  GuestCode& code_;
  const machine::Description& machine_;
};

}  // namespace elision::vm
