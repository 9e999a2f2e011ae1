// SPDX-License-Identifier: Apache-2.0
// The translator: turns guest basic blocks into host code.
//
// It copies ordinary instructions. Before each memory access it emits an access check: the inlined filter
// look-up (machine/filter.h), with its slow path out of line. Each block begins with the budget check, and
// branches between blocks are linked. Guest registers live in the host registers of the same name. An access
// check uses dead registers as scratch registers, or spills live ones to the Cpu.
//
// Invariants:
// - Where the engine may take over (an access check's retry and done addresses, a full exit), all guest
//   registers and flags are exact, except those that liveness analysis proved dead.
// - Translated code writes to the guest's stack only what the guest's instruction writes.
//
// Fast mode (Detail) leaves out access checks, fetch checks and branch prediction. A transaction in it logs
// what it stores, by access checks that always take the slow path; no other CPU runs meanwhile.
#pragma once

#include <cstdint>

#include "machine/description.h"
#include "vm/code/code_cache.h"
#include "vm/decode/guest_code.h"

namespace elision::vm {

struct Translation {
  Detail detail = Detail::kTimed;
  bool watches_marks = false;           // marks (InstructionClass::kMark) leave to the engine
  bool watches_part_markers = false;    // so do markers (InstructionClass::kPartMarker)
  bool is_watched = false;              // so may the block's first instruction
  std::uint32_t recorded_branches = 0;  // kinds of branches (BranchKind)
  std::uint32_t counted_accesses = 0;   // CountedAccess
};

/// Translates the block at `pc`, of at most `most` instructions, and adds it to `cache`, which must have room
/// (CodeCache::nearly_full). Returns null, and leaves `cache` unchanged, if the first instruction cannot be
/// fetched.
const Block* translate_block(CodeCache& cache, GuestCode& code, const machine::Description& machine,
                             const Translation& how, std::uint64_t pc,
                             std::size_t most = GuestCode::kMaxInstructions);

}  // namespace elision::vm
