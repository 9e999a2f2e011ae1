// SPDX-License-Identifier: Apache-2.0
// The cost of a basic block whose accesses all hit L1: the larger of its issue time and its longest register
// recurrence, plus the cost of its serialising instructions. LFENCE, MFENCE and CPUID, which end a block,
// wait for the instructions in front of them (SDM Vol. 3A, 8.3), so that their blocks cost their longest
// chain.
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
  std::uint64_t earlier_loads =
      0;  // in a block that jumps to itself: the same of its execution before this one
  // Cycles of the instructions between the address and the value at block entry, or of a load.
  std::uint8_t address_cycles = 0, earlier_cycles = 0;
  std::uint16_t results = 0;   // registers that depend on the loaded value at the end of the block
  bool feeds_address = false;  // an address depends on the loaded value: in the block, or by `results`
};

/// Computes the data flow of every access of `block` (at most 64 instructions): two entries for each
/// instruction.
void block_data_flow(std::span<const Instruction> block, const machine::Description& machine,
                     std::span<DataFlow> flow);

}  // namespace elision::vm
