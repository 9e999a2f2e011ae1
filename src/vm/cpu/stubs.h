// SPDX-License-Identifier: Apache-2.0
// The entry points of stubs.S, and where translated code finds them.
#pragma once

#include <cstdint>

namespace elision::vm {

struct Cpu;

/// A page below 2 GB that any code reaches by absolute address: pointers to the stubs; behind them what the
/// host's code has in its stack pointer, FS base and MXCSR.
inline constexpr std::uint64_t kStubTable = 0x7e200000;
inline constexpr std::uint64_t kHostStack = kStubTable + 0x100;
/// The address of stub `index` as translated code jumps to it.
inline constexpr std::uint64_t stub_slot(unsigned index) { return kStubTable + 8 * index; }

/// Index into the table of stub addresses at kStubTable.
enum class Stub : unsigned { kSlowAccess, kBudget, kString, kExit, kFetch, kBranch, kCount };

}  // namespace elision::vm

extern "C" {
/// Runs guest code from cpu->resume until a full exit; other CPUs may have run meanwhile. Reads
/// back which CPU left from gs (elision_current_cpu).
void elision_enter(elision::vm::Cpu* cpu);
void elision_stub_slow_access();
void elision_stub_budget();
void elision_stub_string();
void elision_stub_exit();
void elision_stub_fetch();
void elision_stub_branch();
void elision_stub_fault_exit();
extern const char elision_copy_line_end[];
extern const char elision_copy_line_failed[];

// The helpers (helpers.cc): each returns the CPU to resume, or null to leave to the run loop.
/// The access of Cpu::access check, which the filter keeps out as far as it reads a line that is on its way,
/// if it is a load of that line alone; false, and nothing has happened, if it is not. Preserves all registers
/// but RAX and the flags.
[[gnu::no_caller_saved_registers]] bool elision_late_load(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_slow_access(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_budget_exhausted(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_string_step(elision::vm::Cpu* cpu);
/// Fetches the lines of the block that Cpu::access check describes.
elision::vm::Cpu* elision_fetch(elision::vm::Cpu* cpu);
}

namespace elision::vm {

/// The CPU that gs points at.
inline Cpu* current_cpu() {
  Cpu* cpu;
  __asm__ volatile("movq %%gs:0, %0" : "=r"(cpu));
  return cpu;
}

}  // namespace elision::vm
