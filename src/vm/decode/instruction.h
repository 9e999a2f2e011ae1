// SPDX-License-Identifier: Apache-2.0
// One guest instruction as the translator needs it: its kind, the registers and flags that it reads and
// writes, the memory that it touches. Zydis decodes.
#pragma once

#include <cstdint>
#include <span>

#include "vm/decode/memory_operand.h"
#include "vm/interface/guest_state.h"

namespace elision::vm {

enum class InstructionClass : std::uint8_t {
  kPlain,  // copied, with an access check in front for each memory operand
  kJump,
  kConditionalJump,  // Jcc
  kLoop,             // LOOP, LOOPcc, JRCXZ
  kCall,
  kReturn,
  kIndirectJump,
  kIndirectCall,
  kString,      // MOVS, STOS, LODS, CMPS, SCAS with or without REP
  kGather,      // VPGATHER*, VGATHER*
  kFlush,       // CLFLUSH, CLFLUSHOPT
  kMaskedMove,  // VMASKMOV, VPMASKMOV, MASKMOVDQU
  kBitString,   // BT/BTS/BTR/BTC with a memory operand and a register offset
  kSystemCall,
  kCpuid,
  kReadClock,  // RDTSC, RDTSCP
  kReadXcr,    // XGETBV
  kTransactionBegin,
  kAlwaysAbortBegin,
  kTransactionEnd,
  kTransactionAbort,
  kTransactionTest,
  kAlwaysAbortTest,
  kPause,
  kMark,        // a NOP by which the lock libraries name a thread's activity (abi/thread_activity.h)
  kPartMarker,  // begins or ends a part of the run (interface/run_region.h)
  kDirection,   // CLD, STD
  kWriteFsBase,
  kRandom,       // RDRAND, RDSEED
  kSerializing,  // LFENCE, MFENCE
  kStateSave,    // XSAVE family, FXSAVE: copied, EAX masked
  kUndefined,    // UD2, INT3, INT1, HLT…: fault as natively when executed. Length 0: invalid LOCK prefix
  kUnsupported,  // decoded but not supported, or not decodable
  kTooLong,      // more bytes than an instruction may have: a general protection fault
  kIncomplete,   // needs more bytes than are fetchable
};

struct MemoryAccess {
  MemoryOperand operand;
  std::uint32_t size = 0;  // bytes
  bool read = false;
  bool write = false;
};

/// Arithmetic flags as bits of RFLAGS.
inline constexpr std::uint32_t kArithmeticFlags = 0x8d5;

struct Instruction {
  std::uint64_t pc = 0;
  std::uint8_t bytes[15]{};
  std::uint8_t length = 0;     // 0: not whole and valid
  std::uint8_t looked_at = 0;  // bytes that decide what it is
  InstructionClass kind = InstructionClass::kUnsupported;
  std::uint16_t mnemonic = 0;       // ZydisMnemonic
  std::uint8_t condition = 0;       // of Jcc
  bool locked = false;              // LOCK prefix or XCHG with memory
  bool x87 = false;                 // touches x87 or MMX state
  bool aborts_transaction = false;  // copied, but ends a transaction (SDM volume 1, 17.3.9.1)
  bool rep = false;
  bool repne = false;
  bool non_temporal = false;
  std::uint8_t displacement_offset = 0;  // of a RIP-relative operand's displacement; 0: none
  std::uint8_t immediate_bytes = 0;
  std::uint16_t gpr_read = 0;   // whole or part
  std::uint16_t gpr_write = 0;  // whole or part
  std::uint16_t gpr_kill = 0;   // written whole (64 or 32 bits) in every case
  std::uint16_t vector_read = 0;
  std::uint16_t vector_write = 0;
  std::uint32_t flags_read = 0;
  std::uint32_t flags_kill = 0;  // written in every case
  std::uint64_t target = 0;      // of a direct branch, or fallback address of XBEGIN
  std::uint8_t accesses = 0;
  MemoryAccess access[2];

  std::uint64_t next() const { return pc + length; }
  bool ends_block() const;
  bool rip_relative() const { return displacement_offset != 0; }
};

/// Decodes the instruction at guest address `pc` from its fetchable bytes. One that cannot be decoded is
/// kUnsupported with length 0.
Instruction decode(std::uint64_t pc, std::span<const std::uint8_t> bytes);

}  // namespace elision::vm
