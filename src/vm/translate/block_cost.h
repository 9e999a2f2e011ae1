// SPDX-License-Identifier: Apache-2.0
// What a basic block costs when all its accesses hit L1: the larger of issue width and register
// recurrence, plus what instructions cost that serialise.
//
// Misses, stalls and everything that other CPUs cause are the machine model's, at run time.
// Latencies and micro-op counts: Agner Fog's and uops.info's tables for Haswell and Broadwell,
// rounded to the classes below.
#pragma once

#include <cstdint>
#include <span>

#include "machine/description.h"
#include "vm/decode/instruction.h"

namespace elision::vm {

/// Ticks (cpu.h) that one execution of `block` takes.
std::uint32_t block_cost_ticks(std::span<const Instruction> block, const machine::Description& machine);

/// What an address in the block rests on, and where a loaded value ends up.
struct DataFlow {
  std::uint16_t address_registers = 0;  // general registers, as they are at the block's entry
  std::uint64_t address_loads = 0;      // earlier instructions of the block that load, by index
  std::uint16_t results = 0;            // general registers
  bool feeds_address = false;           // in the block, or by `results` behind it
};

/// The data flow of every access of `block` (at most 64 instructions), two entries an instruction.
void block_data_flow(std::span<const Instruction> block, std::span<DataFlow> flow);

}  // namespace elision::vm
