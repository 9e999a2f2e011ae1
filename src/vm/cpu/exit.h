// SPDX-License-Identifier: Apache-2.0
// Descriptions that translated code passes to the slow path (AccessCheck), to the stub that records branches
// (BranchSite), and to the engine (Exit).
//
// They lie in the code cache's metadata region, below 2 GB. Freestanding, because helpers read access checks.
#pragma once

#include <cstdint>

namespace elision::vm {

/// Describes a memory access of translated code to the helpers.
struct AccessCheck {
  // Values of `kind` that are no accesses to be made:
  static constexpr std::uint8_t kWatchedCode = 0xff;   // a watched instruction
  static constexpr std::uint8_t kRecordedLoad = 0xfe;  // a load is recorded (interface/access_counter.h)
  static constexpr std::uint8_t kRecordedStore = 0xfd;
  std::uint64_t retry;              // host address of the instruction's first access check
  std::uint64_t done;               // host address after this access check
  std::uint64_t pc;                 // the instruction
  std::uint32_t size;               // bytes
  std::uint8_t kind;                // machine::AccessKind
  bool feeds_address;               // an address may depend on the loaded value
  std::uint16_t address_registers;  // registers whose values at block entry the address depends on
  std::uint16_t results;            // registers that depend on the loaded value at the end of the block
  std::uint8_t register_cycles;     // between the values at block entry and the address
  std::uint8_t load_cycles[2];      // between each of `address_loads` and the address
  std::uint8_t most_cycles;         // the largest of these
  bool alone;                       // the instruction makes no other access
  // The last two loads that the address depends on, in this execution of the block or the one before; or
  // null.
  const AccessCheck* address_loads[2];
};

/// A branch of code that records taken branches (interface/branch_record.h).
struct BranchSite {
  std::uint64_t from;
  std::uint64_t to;    // 0: in Cpu::exit_value
  std::uint64_t kind;  // a BranchKind
  std::uint64_t done;  // host address at which the code goes on
};

enum class ExitReason : std::uint8_t {
  kLink,      // a direct branch whose target is not linked yet
  kIndirect,  // an indirect branch not in the table; target in Cpu::exit_value
  kSystemCall,
  kCpuid,
  kReadClock,
  kReadXcr,
  kFence,
  kTransactionBegin,
  kAlwaysAbortBegin,
  kTransactionEnd,
  kTransactionAbort,   // detail: the immediate
  kAbortsTransaction,  // an instruction that aborts, executed inside a transaction
  kRandom,
  kComplexAccess,  // gather, masked move, bit string: addresses come from registers
  kMark,           // the activity of the thread at its locks may have changed; RAX points to it
  kPartMarker,     // begins or ends a part of the run (interface/run_region.h)
  kWatchedCode,    // so does a watched instruction
  kUndefined,      // raises SIGILL
  kGeneralProtection,
  kUnsupported,
  kPending,     // repeats Cpu::deferred, an ordered exit that had to wait
  kResolve,     // continue at state.rip
  kInterrupt,   // the budget is used up, and an interrupt or timer is due
  kAttach,      // a thread was put on the CPU: load its registers
  kHostFault,   // a host signal in translated code
  kFetchFault,  // the instruction at state.rip cannot be fetched
  kCount,
};

/// Describes why translated code leaves to the engine.
struct Exit {
  ExitReason reason;
  std::uint8_t length = 0;  // of the instruction
  std::uint16_t detail = 0;
  std::uint64_t pc = 0;           // of the instruction; kLink: of the target
  std::uint64_t target = 0;       // transaction begins: the fallback address
  std::uint64_t next_host = 0;    // host address of the next instruction; 0: not known
  std::uint8_t* patch = nullptr;  // kLink: the jump's displacement
  std::uint8_t bytes[16]{};  // the instruction, because its page may be unmapped before the exit is served
};

}  // namespace elision::vm
