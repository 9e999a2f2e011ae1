// SPDX-License-Identifier: Apache-2.0
// Memory accesses that the inlined filter does not settle. Each goes to Model::access(), which says how far
// it reaches: an L1 hit refills the filter, an access within the core is made at once, an event waits until
// no other CPU is behind.
//
// Compiled with -mgeneral-regs-only and freestanding: the functions run with the guest's vector
// registers and TLS live. Accesses made on the guest's behalf by the engine or the kernel go through
// the same functions.
#pragma once

#include "machine/model.h"
#include "vm/cpu/cpu.h"
#include "vm/cpu/ordering.h"
#include "vm/cpu/shared_ranges.h"

namespace elision::vm {

/// What the helpers work on; one per process, set up by the engine.
struct HelperContext {
  machine::Model* model = nullptr;
  Ordering* ordering = nullptr;
  const SharedRanges* shared_memory = nullptr;
  bool fast_path = true;
  std::uint64_t yields = 0;  // a CPU had to let others run first
  std::uint64_t waits = 0;   // a line was busy
};
extern HelperContext helper_context;

enum class AccessStep {
  kDone,
  kNotYet,      // another CPU is behind (perhaps since a busy line moved the clock): try again in order
  kRolledBack,  // the access ended the CPU's own transaction; its registers were restored
};

/// One access to one line by the running CPU, at its clock. `ready` becomes the later of itself and
/// the time at which the value is there. `instruction` is the address of a load whose strides count, or 0.
AccessStep access_line(Cpu& cpu, LineAddr line, machine::AccessKind kind, Cycles address_ready, Cycles& ready,
                       std::uint64_t instruction = 0);
/// All lines of [address, address + size).
AccessStep access_range(Cpu& cpu, std::uint64_t address, std::uint64_t size, machine::AccessKind kind,
                        Cycles address_ready, Cycles& ready, std::uint64_t instruction = 0);

/// What roll_back() is told as `immediate` if a fault was a debug exception or a breakpoint.
inline constexpr unsigned kDebugFault = 1;

/// Undoes `cpu`'s transaction, which the model has already forgotten: memory, registers, EAX.
/// `immediate` is XABORT's, or tells faults apart.
void roll_back(Cpu& cpu, machine::HardwareAbort cause, unsigned immediate, Cycles clock);

}  // namespace elision::vm
