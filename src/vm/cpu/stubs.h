// SPDX-License-Identifier: Apache-2.0
// The entry points of stubs.S, and the table through which translated code reaches them.
#pragma once

#include <cstdint>

namespace elision::vm {

struct Cpu;

/// A page below 2 GB, which code reaches by absolute addresses. It holds pointers to the stubs, then the
/// host's stack pointer, FS base and MXCSR.
inline constexpr std::uint64_t kStubTable = 0x7e200000;
inline constexpr std::uint64_t kHostStack = kStubTable + 0x100;
/// The address of the pointer to stub `index`.
inline constexpr std::uint64_t stub_slot(unsigned index) { return kStubTable + 8 * index; }

/// Indices of the pointers at kStubTable.
enum class Stub : unsigned { kSlowAccess, kBudget, kString, kExit, kFetch, kBranch, kRecordBranch, kCount };

}  // namespace elision::vm

extern "C" {
/// Runs guest code from cpu->resume until a full exit. Other CPUs may run meanwhile: current_cpu() is the one
/// that left.
void elision_enter(elision::vm::Cpu* cpu);
void elision_stub_slow_access();
void elision_stub_budget();
void elision_stub_string();
void elision_stub_exit();
void elision_stub_fetch();
void elision_stub_branch();
void elision_stub_record_branch();
void elision_stub_fault_exit();
extern const char elision_copy_line_end[];
extern const char elision_copy_line_failed[];

// The helpers (helpers.cc): each returns the CPU to resume, or null to leave to the run loop.
/// Makes the access of Cpu::access_check if it is a load of one line that is on its way. Returns false, and
/// changes nothing, if it is not. Preserves all registers but RAX and the flags.
[[gnu::no_caller_saved_registers]] bool elision_late_load(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_slow_access(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_budget_exhausted(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_string_step(elision::vm::Cpu* cpu);
/// Fetches the code lines of the block that Cpu::access_check describes.
elision::vm::Cpu* elision_fetch(elision::vm::Cpu* cpu);
}

namespace elision::vm {

/// The CPU that gs points to.
inline Cpu* current_cpu() {
  Cpu* cpu;
  __asm__ volatile("movq %%gs:0, %0" : "=r"(cpu));
  return cpu;
}

}  // namespace elision::vm
