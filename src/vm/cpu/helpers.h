// SPDX-License-Identifier: Apache-2.0
// Memory accesses that the inlined check does not settle. A load of a line that is on its way only notes when
// its value arrives. Every other load or store looks its lines up in the filter: one that straddles lines, or
// a step of REP MOVS, may hit after all and is done. The rest, with every atomic, goes to Model::access(),
// which returns how far it reaches. A hit in L1 refills the filter. An access within the core is made at
// once. An ordered event waits until no other CPU is behind.
//
// Freestanding and compiled with -mgeneral-regs-only: the functions run with the guest's vector registers and
// TLS live. The engine makes its accesses for the guest through the same functions.
#pragma once

#include "machine/model.h"
#include "vm/cpu/cpu.h"
#include "vm/cpu/ordering.h"
#include "vm/cpu/shared_ranges.h"

namespace elision::vm {

/// What the helpers use; one per process, set by the engine.
struct HelperContext {
  machine::Model* model = nullptr;
  Ordering* ordering = nullptr;
  const SharedRanges* shared_memory = nullptr;
  Cpu* const* cpus = nullptr;
  std::size_t cpu_count = 0;
  bool fast_path = true;
  // The line that memory shows as it was before the last store of `shown_old_of`; see show_old().
  Cpu* shown_old_of = nullptr;
  std::size_t most_logged_lines = 0;  // that a transaction may write in fast mode
  // The watched instruction (engine/watched_code.h).
  std::uint64_t watched_executions = 0;  // outside of transactions
  std::uint64_t awaited_execution = 0;   // that leaves to the engine
  std::uint64_t yields = 0;              // times that a CPU let others run first
  std::uint64_t waits = 0;               // times that a line was busy
};
extern HelperContext helper_context;

/// How long an access looks whether it depends on loads that have arrived, in cycles. A longer reorder window
/// than on any described part.
inline constexpr std::uint64_t kLongestWindow = 512;

enum class AccessStep {
  kDone,
  kNotYet,      // another CPU is behind, perhaps because this one waited for a busy line: try again in order
  kRolledBack,  // the access ended the CPU's own transaction; its registers were restored
};

/// An access by the running CPU to all lines of [address, address + size), at its clock. `ready` becomes the
/// later of itself and the time at which the value arrives. `instruction` is the load's address for the
/// stride prefetcher, or 0. `alone`: the instruction makes no other access.
AccessStep access_range(Cpu& cpu, std::uint64_t address, std::uint64_t size, machine::AccessKind kind,
                        Cycles address_ready, Cycles& ready, std::uint64_t instruction = 0,
                        bool alone = false);

/// Lets the model serve the early requests that arrive before the earliest CPU in the heap runs. All CPUs
/// with a thread must be in the heap.
void let_requests_arrive();

/// Exchanges a line's contents with what HelperContext::shown_old_of has kept of it.
void swap_hidden_line();
/// Memory is again as all stores have left it. To be called when translated code has been left.
inline void show_new() {
  if (helper_context.shown_old_of == nullptr) return;
  swap_hidden_line();
  helper_context.shown_old_of = nullptr;
}

/// `immediate` of roll_back() for a fault that is a debug exception or a breakpoint.
inline constexpr unsigned kDebugFault = 1;

/// Rolls back the transaction of `cpu`, which the model has already aborted: restores memory and registers,
/// and sets EAX. `immediate` is XABORT's immediate, or kDebugFault. RIP, which also becomes that of the
/// fallback, names the instruction that was to be executed.
void roll_back(Cpu& cpu, machine::HardwareAbort cause, unsigned immediate, Cycles clock);

}  // namespace elision::vm
