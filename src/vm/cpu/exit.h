// SPDX-License-Identifier: Apache-2.0
// What translated code leaves behind for the slow path (AccessCheck) and for the engine (Exit).
//
// Both lie below 2 GB in the cache's metadata region. Freestanding: helpers read access checks.
#pragma once

#include <cstdint>

namespace elision::vm {

/// A memory access of translated code, for its slow path. Read by helpers.
struct AccessCheck {
  std::uint64_t retry;              // host address in front of the instruction's first access check
  std::uint64_t done;               // host address behind this access check's check
  std::uint64_t pc;                 // the instruction
  std::uint32_t size;               // bytes
  std::uint8_t kind;                // machine::AccessKind
  bool feeds_address;               // some address may rest on the loaded value
  std::uint16_t address_registers;  // whose values at the block's entry the address rests on
  std::uint16_t results;            // that carry the loaded value at the end of the block
  const AccessCheck*
      address_loads[2];  // loads earlier in the block on which the address rests (the last two), or null
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
  kTransactionAbort,   // value: the immediate
  kAbortsTransaction,  // an instruction that cannot run inside a transaction, met inside one
  kRandom,
  kComplexAccess,  // gather, masked move, bit string: addresses come from registers
  kUndefined,      // raises the signal that the hardware would
  kGeneralProtection,
  kUnsupported,
  kPending,     // a suspended CPU continues an exit that had to wait its turn
  kResolve,     // continue at state.rip
  kInterrupt,   // budget used up and something is due
  kAttach,      // a thread was put on the CPU: load its registers
  kHostFault,   // a host signal in translated code
  kFetchFault,  // the instruction at state.rip cannot be fetched
  kCount,
};

/// Why translated code left to the engine.
struct Exit {
  ExitReason reason;
  std::uint8_t length = 0;  // of the instruction
  std::uint16_t detail = 0;
  std::uint64_t pc = 0;           // of the instruction; of the target for kLink
  std::uint64_t target = 0;       // fallback address for transaction begins
  std::uint64_t next_host = 0;    // continue here (0: translate)
  std::uint8_t* patch = nullptr;  // kLink: the displacement to write
  std::uint8_t bytes[16]{};       // kRandom, kComplexAccess: the instruction (its page may go meanwhile)
};

}  // namespace elision::vm
