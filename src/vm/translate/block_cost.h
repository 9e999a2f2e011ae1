// SPDX-License-Identifier: Apache-2.0
// The cost of a basic block whose accesses all hit L1: the larger of its issue time and its longest register
// recurrence, plus the cost of its serialising instructions. The recurrence is what an iteration of a loop
// over the block needs from the one before: chains that begin anew in each iteration overlap. LFENCE, MFENCE,
// CPUID and RDTSCP, which end a block, wait for the instructions in front of them, so that their blocks cost
// their longest chain.
//
// The machine model adds misses, stalls and the effects of other CPUs at run time. Latencies and micro-op
// counts come from Agner Fog's and uops.info's tables for Haswell and Broadwell, rounded to a few classes.
#pragma once

#include <cstdint>
#include <span>

#include "machine/description.h"
#include "vm/decode/instruction.h"

namespace elision::vm {

/// The ticks (cpu.h) that one execution of `block` takes.
std::uint32_t block_cost_ticks(std::span<const Instruction> block, const machine::Description& machine);

/// The same in fast mode: kCountedTicks for each instruction, and the time of PAUSE, in which another CPU is
/// to do what this one waits for.
std::uint32_t counted_ticks(std::span<const Instruction> block, const machine::Description& machine);
/// Two instructions a cycle.
inline constexpr std::uint32_t kCountedTicks = 8;

/// The data flow of one access: what its address depends on, and where its loaded value goes.
struct DataFlow {
  std::uint16_t address_registers = 0;  // registers whose values at block entry the address depends on
  std::uint64_t address_loads = 0;      // loads in the block that the address depends on, by instruction
  /// In a block that jumps to itself: loads of its previous execution, behind this access, from whose values
  /// the address is computed. Not those whose value a register still holds at this access, which is seen at
  /// run time, also where another block leads here.
  std::uint64_t earlier_loads = 0;
  /// Cycles of the instructions from a register's value at block entry, from a load of the block, and from
  /// one of `earlier_loads` to the address.
  std::uint8_t register_cycles = 0, load_cycles = 0, earlier_cycles = 0;
  std::uint16_t results = 0;  // registers that depend on the loaded value at the end of the block
  /// An address may depend on the loaded value: one in the block does, `results` is not empty, or the value
  /// is stored where a pointer has room.
  bool feeds_address = false;
};

/// Computes the data flow of every access of `block` (at most 64 instructions): two entries for each
/// instruction.
void block_data_flow(std::span<const Instruction> block, const machine::Description& machine,
                     std::span<DataFlow> flow);

}  // namespace elision::vm
