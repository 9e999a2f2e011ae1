// SPDX-License-Identifier: Apache-2.0
#include "vm/decode/instruction.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>

#include "abi/thread_activity.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kSystemCallGate = 0x80;  // INT: system calls of 32-bit programs

using Kind = InstructionClass;

const ZydisDecoder& decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder d;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return d;
  }();
  return instance;
}

int gpr_number(ZydisRegister reg) {
  const ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (full < ZYDIS_REGISTER_RAX || full > ZYDIS_REGISTER_R15) return kNoRegister;
  return full - ZYDIS_REGISTER_RAX;
}

int vector_number(ZydisRegister reg) {
  const ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (full < ZYDIS_REGISTER_ZMM0 || full > ZYDIS_REGISTER_ZMM15) return kNoRegister;
  return full - ZYDIS_REGISTER_ZMM0;
}

bool is_x87_register(ZydisRegister reg) {
  return (reg >= ZYDIS_REGISTER_ST0 && reg <= ZYDIS_REGISTER_ST7) ||
         (reg >= ZYDIS_REGISTER_MM0 && reg <= ZYDIS_REGISTER_MM7) || reg == ZYDIS_REGISTER_X87CONTROL ||
         reg == ZYDIS_REGISTER_X87STATUS || reg == ZYDIS_REGISTER_X87TAG;
}

/// True for far branches and writes to segment registers: fs and gs hold the guest's TLS and the engine's
/// Cpu.
bool touches_segments(const ZydisDecodedInstruction& d, const ZydisDecodedOperand* operands) {
  if (d.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return true;
  for (unsigned i = 0; i < d.operand_count; ++i)
    if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        operands[i].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
        ZydisRegisterGetClass(operands[i].reg.value) == ZYDIS_REGCLASS_SEGMENT &&
        (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
      return true;
  return false;
}

bool needs_avx512(const ZydisDecodedInstruction& d, const ZydisDecodedOperand* operands) {
  if (d.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX || d.encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX)
    return true;
  for (unsigned i = 0; i < d.operand_count; ++i) {
    if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const ZydisRegister reg = operands[i].reg.value;
    if (reg >= ZYDIS_REGISTER_K0 && reg <= ZYDIS_REGISTER_K7) return true;
  }
  return false;
}

Kind string_or_plain(const ZydisDecodedInstruction& d) {
  switch (d.meta.category) {
    case ZYDIS_CATEGORY_STRINGOP:
      return Kind::kString;
    case ZYDIS_CATEGORY_AVX2GATHER:
      return Kind::kGather;
    default:
      return Kind::kPlain;
  }
}

Kind classify(const ZydisDecodedInstruction& d, const ZydisDecodedOperand* operands) {
  const bool direct = d.operand_count > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (d.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
      return direct ? Kind::kJump : Kind::kIndirectJump;
    case ZYDIS_MNEMONIC_CALL:
      return direct ? Kind::kCall : Kind::kIndirectCall;
    case ZYDIS_MNEMONIC_RET:
      return Kind::kReturn;
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
      return Kind::kLoop;
    case ZYDIS_MNEMONIC_SYSCALL:
      return Kind::kSystemCall;
    case ZYDIS_MNEMONIC_CPUID:
      return Kind::kCpuid;
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
      return Kind::kReadClock;
    case ZYDIS_MNEMONIC_XGETBV:
      return Kind::kReadXcr;
    case ZYDIS_MNEMONIC_XBEGIN:
      return Kind::kTransactionBegin;
    case ZYDIS_MNEMONIC_XEND:
      return Kind::kTransactionEnd;
    case ZYDIS_MNEMONIC_XABORT:
      return Kind::kTransactionAbort;
    case ZYDIS_MNEMONIC_XTEST:
      return Kind::kTransactionTest;
    case ZYDIS_MNEMONIC_PAUSE:
      return Kind::kPause;
    case ZYDIS_MNEMONIC_CLD:
    case ZYDIS_MNEMONIC_STD:
      return Kind::kDirection;
    case ZYDIS_MNEMONIC_WRFSBASE:
      return Kind::kWriteFsBase;
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
      return Kind::kRandom;
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_LFENCE:
      return Kind::kSerializing;
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_HLT:
      return Kind::kUndefined;
    case ZYDIS_MNEMONIC_INT:
      return operands[0].imm.value.u == kSystemCallGate ? Kind::kUnsupported : Kind::kUndefined;
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_RDGSBASE:  // gs is the engine's
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_SWAPGS:
    case ZYDIS_MNEMONIC_LFS:
    case ZYDIS_MNEMONIC_LGS:
    case ZYDIS_MNEMONIC_LSS:
    case ZYDIS_MNEMONIC_RDPID:   // would show the host's CPU
    case ZYDIS_MNEMONIC_RDPKRU:  // CPUID does not offer protection keys
    case ZYDIS_MNEMONIC_WRPKRU:
      return Kind::kUnsupported;
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
      return Kind::kFlush;
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
      return operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER
                 ? Kind::kBitString
                 : Kind::kPlain;
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
      return Kind::kMaskedMove;
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
      return Kind::kStateSave;
    default:
      break;
  }
  switch (d.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return Kind::kConditionalJump;
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_SGX:
      return Kind::kUndefined;  // privileged: faults as natively
    default:
      return string_or_plain(d);
  }
}

bool aborts_transaction(const ZydisDecodedInstruction& d) {
  switch (d.mnemonic) {
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_MOVNTQ:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_SGDT:  // these may end without a fault: kernels emulate them where UMIP forbids them
    case ZYDIS_MNEMONIC_SIDT:
    case ZYDIS_MNEMONIC_SLDT:
    case ZYDIS_MNEMONIC_SMSW:
    case ZYDIS_MNEMONIC_STR:
      return true;
    default:
      return false;
  }
}

bool shift_by_zero(const ZydisDecodedInstruction& d, const ZydisDecodedOperand* operands) {
  if (d.meta.category != ZYDIS_CATEGORY_SHIFT && d.meta.category != ZYDIS_CATEGORY_ROTATE) return false;
  for (unsigned i = 1; i < d.operand_count_visible; ++i)
    if (operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
      return (operands[i].imm.value.u & (operands[0].size == 64 ? 63 : 31)) == 0;
  return false;
}

void note_register(Instruction& out, const ZydisDecodedOperand& operand) {
  const bool reads = operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ;
  const bool writes = operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
  const ZydisRegister reg = operand.reg.value;
  if (is_x87_register(reg)) out.x87 = true;
  if (const int gpr = gpr_number(reg); gpr != kNoRegister) {
    const auto bit = static_cast<std::uint16_t>(1u << gpr);
    const bool whole = operand.size >= 32 && (operand.actions & ZYDIS_OPERAND_ACTION_WRITE);
    if (reads || (writes && !whole)) out.gpr_read |= bit;
    if (writes) out.gpr_write |= bit;
    if (whole) out.gpr_kill |= bit;
  } else if (const int vector = vector_number(reg); vector != kNoRegister) {
    if (reads) out.vector_read |= static_cast<std::uint16_t>(1u << vector);
    if (writes) out.vector_write |= static_cast<std::uint16_t>(1u << vector);
  }
}

MemoryOperand memory_operand(const Instruction& out, const ZydisDecodedInstruction& d,
                             const ZydisDecodedOperand& operand) {
  MemoryOperand m;
  if (operand.mem.segment == ZYDIS_REGISTER_FS) m.segment = Segment::kFs;
  if (operand.mem.segment == ZYDIS_REGISTER_GS) m.segment = Segment::kGs;
  m.displacement = operand.mem.disp.value;
  // The implicit stack operand always has 64-bit addresses. Linkers leave address prefixes in front of calls
  // that they shortened.
  m.address_size_32 = d.address_width == 32 && operand.mem.base != ZYDIS_REGISTER_RSP;
  if (operand.mem.base == ZYDIS_REGISTER_RIP || operand.mem.base == ZYDIS_REGISTER_EIP) {
    m.rip_relative = true;
    m.displacement += static_cast<std::int64_t>(out.next());
  } else if (operand.mem.base != ZYDIS_REGISTER_NONE) {
    m.base = gpr_number(operand.mem.base);
  }
  if (operand.mem.index != ZYDIS_REGISTER_NONE) m.index = gpr_number(operand.mem.index);
  m.scale = operand.mem.scale == 0 ? 1 : operand.mem.scale;
  return m;
}

void note_memory(Instruction& out, const ZydisDecodedInstruction& d, const ZydisDecodedOperand& operand) {
  const MemoryOperand m = memory_operand(out, d, operand);
  if (m.base != kNoRegister) out.gpr_read |= static_cast<std::uint16_t>(1u << m.base);
  if (m.index != kNoRegister && out.kind != Kind::kGather)
    out.gpr_read |= static_cast<std::uint16_t>(1u << m.index);
  if (operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN || d.meta.category == ZYDIS_CATEGORY_NOP ||
      d.meta.category == ZYDIS_CATEGORY_WIDENOP || d.meta.category == ZYDIS_CATEGORY_PREFETCH ||
      out.accesses == 2)
    return;
  MemoryAccess& access = out.access[out.accesses++];
  access.operand = m;
  access.size = operand.size / 8;
  access.read = operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ;
  access.write = operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

/// Corrects Zydis's [RSP] of stack operations: a push writes the slot below, and each touches a whole slot.
void fix_stack_access(Instruction& out, const ZydisDecodedInstruction& d) {
  for (unsigned i = 0; i < out.accesses; ++i) {
    MemoryAccess& access = out.access[i];
    const bool hidden_slot = access.operand.base == kRsp && access.operand.index == kNoRegister &&
                             access.operand.displacement == 0 && i + 1 == out.accesses;
    const bool pushes = d.meta.category == ZYDIS_CATEGORY_PUSH || out.kind == Kind::kCall ||
                        out.kind == Kind::kIndirectCall || d.mnemonic == ZYDIS_MNEMONIC_ENTER;
    if (hidden_slot && pushes && access.write)
      access.operand.displacement = -static_cast<std::int64_t>(access.size);
  }
  // POP [mem] with base RSP computes the address after the increment.
  if (d.mnemonic == ZYDIS_MNEMONIC_POP && out.accesses == 2 && out.access[0].operand.base == kRsp)
    out.access[0].operand.displacement += 8;
}

void note_flags(Instruction& out, const ZydisDecodedInstruction& d, const ZydisDecodedOperand* operands) {
  if (d.cpu_flags == nullptr) return;
  std::uint32_t written = (d.cpu_flags->modified | d.cpu_flags->set_0 | d.cpu_flags->set_1 |
                           (d.cpu_flags->undefined & ZYDIS_CPUFLAG_AF)) &
                          kArithmeticFlags;
  out.flags_read = d.cpu_flags->tested & kArithmeticFlags;
  bool certain = !shift_by_zero(d, operands);
  for (unsigned i = 0; i < d.operand_count; ++i)
    if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[i].reg.value == ZYDIS_REGISTER_RFLAGS)
      certain = certain && (operands[i].actions & ZYDIS_OPERAND_ACTION_CONDWRITE) == 0;
  // Some CPUs leave undefined flags unchanged (DIV, BSF). AF is excepted: no code reads it.
  if (d.mnemonic == ZYDIS_MNEMONIC_DIV || d.mnemonic == ZYDIS_MNEMONIC_IDIV) written = 0;
  if (certain) out.flags_kill = written;
  if (d.mnemonic == ZYDIS_MNEMONIC_PUSHFQ || d.mnemonic == ZYDIS_MNEMONIC_PUSHF)
    out.flags_read = kArithmeticFlags;
  // A system call preserves the flags. R11 gets a copy that no code reads.
  if (d.mnemonic == ZYDIS_MNEMONIC_SYSCALL) out.flags_kill = out.flags_read = 0;
}

/// m5_work_begin and m5_work_end of gem5.
bool is_gem5_marker(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 4 && bytes[0] == 0x0f && bytes[1] == 0x04 &&
         (bytes[2] == 0x5a || bytes[2] == 0x5b) && bytes[3] == 0;
}

/// Instructions unknown to Zydis: the two of the virtual CPU alone (abi/virtual_cpu.h), and gem5's.
bool decode_virtual(Instruction& out, std::span<const std::uint8_t> bytes) {
  static constexpr std::uint8_t kTest[] = {0xf3, 0x0f, 0x01, 0xd6};
  static constexpr std::uint8_t kBegin[] = {0xf3, 0xc7, 0xf8};
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), kTest, 4) == 0) {
    out.kind = Kind::kAlwaysAbortTest;
    out.length = out.looked_at = 4;
    out.flags_kill = kArithmeticFlags;
    return true;
  }
  if (is_gem5_marker(bytes)) {
    out.kind = Kind::kPartMarker;
    out.length = out.looked_at = 4;
    return true;
  }
  if (bytes.size() >= 7 && std::memcmp(bytes.data(), kBegin, 3) == 0) {
    std::int32_t relative;
    std::memcpy(&relative, bytes.data() + 3, 4);
    out.kind = Kind::kAlwaysAbortBegin;
    out.length = out.looked_at = 7;
    out.target = out.pc + 7 + static_cast<std::uint64_t>(static_cast<std::int64_t>(relative));
    out.gpr_read = 1u << kRax;
    out.flags_read = kArithmeticFlags;
    return true;
  }
  return false;
}

bool is_mark(const Instruction& i) {
  return i.length == sizeof abi::kMarkInstruction &&
         std::memcmp(i.bytes, abi::kMarkInstruction, sizeof abi::kMarkInstruction) == 0;
}

/// XCHG BX, BX of Sniper.
bool is_sniper_marker(const Instruction& i) {
  constexpr std::uint8_t kExchange[] = {0x66, 0x87, 0xdb};
  return i.length == sizeof kExchange && std::memcmp(i.bytes, kExchange, sizeof kExchange) == 0;
}

void note_operands(Instruction& out, const ZydisDecodedInstruction& d, const ZydisDecodedOperand* operands) {
  for (unsigned i = 0; i < d.operand_count; ++i) {
    if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER) note_register(out, operands[i]);
    if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) note_memory(out, d, operands[i]);
  }
  fix_stack_access(out, d);
  // These write their register but depend on its old value: a 32-bit CMOV, BSF and BSR that find nothing,
  // RDSSP without a shadow stack.
  if (d.meta.category == ZYDIS_CATEGORY_CMOV || d.mnemonic == ZYDIS_MNEMONIC_BSF ||
      d.mnemonic == ZYDIS_MNEMONIC_BSR || d.mnemonic == ZYDIS_MNEMONIC_RDSSPD ||
      d.mnemonic == ZYDIS_MNEMONIC_RDSSPQ) {
    out.gpr_read |= out.gpr_write;
    out.gpr_kill = 0;
  }
  if (d.mnemonic == ZYDIS_MNEMONIC_CMPXCHG || d.mnemonic == ZYDIS_MNEMONIC_CMPXCHG8B ||
      d.mnemonic == ZYDIS_MNEMONIC_CMPXCHG16B) {
    out.gpr_read |= out.gpr_write;
    out.gpr_kill = 0;
    for (unsigned i = 0; i < out.accesses; ++i) out.access[i].read = out.access[i].write = true;
  }
}

void note_target(Instruction& out, const ZydisDecodedInstruction& d, const ZydisDecodedOperand* operands) {
  if (operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !operands[0].imm.is_relative) return;
  ZyanU64 target = 0;
  ZydisCalcAbsoluteAddress(&d, &operands[0], out.pc, &target);
  out.target = target;
}

}  // namespace

bool Instruction::ends_block() const {
  switch (kind) {
    case Kind::kJump:
    case Kind::kConditionalJump:
    case Kind::kLoop:
    case Kind::kCall:
    case Kind::kReturn:
    case Kind::kIndirectJump:
    case Kind::kIndirectCall:
    case Kind::kSystemCall:
    case Kind::kCpuid:  // these wait for earlier instructions: charge none behind them yet
    case Kind::kReadClock:
    case Kind::kSerializing:
    case Kind::kTransactionBegin:
    case Kind::kAlwaysAbortBegin:
    case Kind::kTransactionEnd:
    case Kind::kTransactionAbort:
    case Kind::kUndefined:
    case Kind::kUnsupported:
    case Kind::kTooLong:
    case Kind::kIncomplete:
      return true;
    default:
      return false;
  }
}

Instruction decode(std::uint64_t pc, std::span<const std::uint8_t> bytes) {
  Instruction out;
  out.pc = pc;
  bytes = bytes.first(std::min(bytes.size(), sizeof out.bytes));
  if (bytes.empty()) {
    out.kind = Kind::kIncomplete;
    return out;
  }
  std::memcpy(out.bytes, bytes.data(), bytes.size());
  out.looked_at = static_cast<std::uint8_t>(bytes.size());
  if (decode_virtual(out, bytes)) return out;
  ZydisDecodedInstruction d;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  const ZyanStatus status = ZydisDecoderDecodeFull(&decoder(), bytes.data(), bytes.size(), &d, operands);
  if (status == ZYDIS_STATUS_ILLEGAL_LOCK) out.kind = Kind::kUndefined;
  if (status == ZYDIS_STATUS_INSTRUCTION_TOO_LONG) out.kind = Kind::kTooLong;
  if (status == ZYDIS_STATUS_NO_MORE_DATA) out.kind = Kind::kIncomplete;
  if (!ZYAN_SUCCESS(status)) return out;
  out.length = out.looked_at = d.length;
  out.mnemonic = static_cast<std::uint16_t>(d.mnemonic);
  out.kind =
      needs_avx512(d, operands) || touches_segments(d, operands) ? Kind::kUnsupported : classify(d, operands);
  if (is_mark(out)) out.kind = Kind::kMark;
  note_operands(out, d, operands);
  if (is_sniper_marker(out)) {
    out.kind = Kind::kPartMarker;
    out.gpr_read |= 1u << kRax;
  }
  note_flags(out, d, operands);
  note_target(out, d, operands);
  if (out.kind == Kind::kConditionalJump) out.condition = d.opcode & 15;
  out.locked =
      (d.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || (d.mnemonic == ZYDIS_MNEMONIC_XCHG && out.accesses > 0);
  out.rep = (d.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE)) != 0;
  out.repne = (d.attributes & ZYDIS_ATTRIB_HAS_REPNE) != 0;
  out.x87 = out.x87 || d.meta.category == ZYDIS_CATEGORY_X87_ALU || d.meta.isa_ext == ZYDIS_ISA_EXT_MMX;
  out.aborts_transaction = aborts_transaction(d) || out.x87;
  for (unsigned i = 0; i < out.accesses; ++i) {
    if (out.access[i].operand.segment == Segment::kGs) out.kind = Kind::kUnsupported;
    if (out.access[i].operand.rip_relative) out.displacement_offset = d.raw.disp.offset;
  }
  if (d.raw.disp.size == 32 && (d.raw.modrm.mod == 0 && d.raw.modrm.rm == 5) && d.raw.modrm.offset != 0)
    out.displacement_offset = d.raw.disp.offset;  // LEA, prefetches and NOPs too
  out.immediate_bytes =
      static_cast<std::uint8_t>(out.displacement_offset != 0 ? out.length - out.displacement_offset - 4 : 0);
  return out;
}

}  // namespace elision::vm
