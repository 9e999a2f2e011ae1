// SPDX-License-Identifier: Apache-2.0
// Instructions that are copied or rewritten, and those that the engine executes.
#include <Zydis/Zydis.h>

#include <algorithm>

#include "vm/cpu/cpu.h"
#include "vm/translate/block_builder.h"

namespace elision::vm {
namespace {

bool reaches(std::uint64_t from, std::uint64_t target) {
  const auto distance = static_cast<std::int64_t>(target - from);
  return distance >= -0x7fff0000ll && distance <= 0x7fff0000ll;
}

bool is_rex(std::uint8_t byte) { return (byte & 0xf0) == 0x40; }

bool is_legacy_prefix(std::uint8_t byte) {
  constexpr std::uint8_t kPrefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};
  return std::find(std::begin(kPrefixes), std::end(kPrefixes), byte) != std::end(kPrefixes);
}

/// True for XSAVE, XRSTOR and their variants, which obey a mask in EAX. FXSAVE and FXRSTOR do not.
bool obeys_mask(const Instruction& i) {
  const std::uint8_t* opcode = std::find(i.bytes, i.bytes + i.length, 0x0f);
  const unsigned extension = (opcode[2] >> 3) & 7;
  return opcode[1] == 0xc7 || extension >= 4;
}

/// True for STD, false for CLD.
bool sets_direction(const Instruction& i) { return i.bytes[i.length - 1] == 0xfd; }

}  // namespace

Exit* BlockBuilder::new_exit(const Instruction& i, ExitReason reason, std::uint16_t detail,
                             std::uint64_t target) {
  Exit exit{};
  exit.reason = reason;
  exit.length = i.length;
  exit.detail = detail;
  exit.pc = i.pc;
  exit.target = target;
  std::copy(i.bytes, i.bytes + i.length, exit.bytes);
  return cache_.allocate_meta(exit);
}

void BlockBuilder::full_exit(const Instruction& i, ExitReason reason, std::uint16_t detail,
                             std::uint64_t target) {
  Exit* exit = new_exit(i, reason, detail, target);
  emit_exit(out_, exit);
  exit->next_host = i.ends_block() ? 0 : out_.address();
}

/// Leaves to the engine if the CPU is inside a transaction. Counted code never is.
void BlockBuilder::exit_if_in_transaction(std::size_t n) {
  if (is_counted()) return;
  const bool live = flags_live(n);
  if (live) save_flags();
  out_.cmp8_imm(cpu_field(kOffsetInTransaction), 0);
  exits_.push_back(
      {out_.jump_if(kNotEqual), new_exit(code_block_.instructions[n], ExitReason::kAbortsTransaction)});
  if (live) restore_flags();
}

/// CLD and STD end a transaction if they change DF (SDM volume 1, 17.3.9.1).
void BlockBuilder::exit_if_direction_changes(std::size_t n) {
  if (is_counted()) return;
  const Instruction& i = code_block_.instructions[n];
  const bool live = flags_live(n);
  if (live) save_flags();
  out_.cmp8_imm(cpu_field(kOffsetDirection), sets_direction(i));
  std::uint8_t* unchanged = out_.jump_if_short(kEqual);
  out_.cmp8_imm(cpu_field(kOffsetInTransaction), 0);
  exits_.push_back({out_.jump_if(kNotEqual), new_exit(i, ExitReason::kAbortsTransaction)});
  out_.land_short(unchanged);
  if (live) restore_flags();
}

/// POPF and POPFQ. Records DF and kSystemFlags in the Cpu. Then the host pops DF and the arithmetic flags
/// from Cpu::scratch. TF is dropped.
void BlockBuilder::pop_flags(const Instruction& i) {
  constexpr unsigned kDirectionBit = 10;
  constexpr std::uint32_t kPopped = 0xcd5;  // OF DF SF ZF AF PF CF
  const bool wide = i.access[0].size == 8;
  const MemoryOperand top{.base = kRsp};
  out_.store(cpu_field(kOffsetScratch + 24), kRax);
  if (wide) {
    out_.load32(kRax, top);
    out_.and32_imm32(kRax, kSystemFlags);
    out_.store32(cpu_field(kOffsetSystemFlags), kRax);
  }
  out_.load16(kRax, top);
  out_.shift_right32(kRax, kDirectionBit);
  out_.and32_imm32(kRax, 1);
  out_.store8(cpu_field(kOffsetDirection), kRax);
  out_.load16(kRax, top);
  out_.and32_imm32(kRax, kPopped);
  out_.store(cpu_field(kOffsetScratch + 8), kRax);
  out_.store(cpu_field(kOffsetScratch + 16), kRsp);
  out_.load(kRsp, cpu_field(kOffsetSelf));
  out_.lea(kRsp, kRsp, kOffsetScratch + 8);
  out_.byte(0x9d);  // popfq
  out_.load(kRsp, cpu_field(kOffsetScratch + 16));
  out_.lea(kRsp, kRsp, wide ? 8 : 2);
  out_.load(kRax, cpu_field(kOffsetScratch + 24));
}

/// PUSHFQ has pushed the host's flags: adds the guest's kSystemFlags. Changes no flag.
void BlockBuilder::add_system_flags() {
  const MemoryOperand top{.base = kRsp};
  out_.store(cpu_field(kOffsetScratch + 16), kRax);
  out_.store(cpu_field(kOffsetScratch + 24), kRcx);
  out_.load32(kRax, top);
  out_.load32(kRcx, cpu_field(kOffsetSystemFlags));
  out_.lea(kRax,
           MemoryOperand{.base = kRax, .index = kRcx});  // these bits are 0 in the host: the sum is an OR
  out_.store32(top, kRax);
  out_.load(kRax, cpu_field(kOffsetScratch + 16));
  out_.load(kRcx, cpu_field(kOffsetScratch + 24));
}

bool BlockBuilder::aborts_transaction(const Instruction& i) const {
  return i.aborts_transaction ||
         (i.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER && machine_.transactions.vzeroupper_aborts);
}

/// Where nobody watches them, markers do what they do on a CPU.
void BlockBuilder::part_marker(const Instruction& i) {
  constexpr std::size_t kExchangeLength = 3;
  if (how_.watches_part_markers) {
    full_exit(i, ExitReason::kPartMarker);
  } else if (i.length == kExchangeLength) {
    copy(i);
  } else {
    full_exit(i, ExitReason::kUnsupported);
  }
}

/// XTEST and AAHTM_TEST: clears ZF if `bit` of Cpu::in_transaction is set, else sets it. Clears the other
/// flags.
void BlockBuilder::transaction_test(unsigned bit) {
  constexpr std::uint8_t kTail[] = {0x83, 0xe0, 0x01,              // and eax, 1
                                    0xc1, 0xe0, 0x0e,              // shl eax, 14    AH = ZF's place
                                    0x35, 0x00, 0x42, 0x00, 0x00,  // xor eax, 0x4200
                                    0x04, 0x00,                    // add al, 0      OF = 0
                                    0x9e};                         // sahf
  out_.store(cpu_field(kOffsetScratch + 16), kRax);
  out_.load32(kRax, cpu_field(kOffsetInTransaction));
  if (bit > 0) out_.shift_right32(kRax, bit);
  out_.raw(kTail, sizeof kTail);
  out_.load(kRax, cpu_field(kOffsetScratch + 16));
}

/// Initialises the x87 unit (FNINIT) before the thread's first x87 instruction.
void BlockBuilder::start_x87(std::size_t n) {
  if (x87_started_) return;
  x87_started_ = true;
  const bool live = flags_live(n);
  if (live) save_flags();
  start_x87_unless_used();
  if (live) restore_flags();
}

void BlockBuilder::start_x87_unless_used() {
  out_.cmp8_imm(cpu_field(kOffsetX87Used), 0);
  std::uint8_t* used = out_.jump_if_short(kNotEqual);
  out_.byte(0xdb), out_.byte(0xe3);  // fninit
  out_.store_imm8(cpu_field(kOffsetX87Used), 1);
  out_.land_short(used);
}

/// XSAVE and XRSTOR use the x87 unit only if EAX selects it. The dynamic linker does not select it, and a
/// thread that does not use x87 saves time: swapping the x87 state is the largest cost of a change of CPU.
void BlockBuilder::start_x87_if_chosen(std::size_t n) {
  if (x87_started_) return;
  const bool live = flags_live(n);
  if (live) save_flags();
  out_.byte(0xa8), out_.byte(0x01);  // test al, 1
  std::uint8_t* without = out_.jump_if_short(kEqual);
  start_x87_unless_used();
  out_.land_short(without);
  if (live) restore_flags();
}

void BlockBuilder::copy(const Instruction& i) {
  if (!i.rip_relative()) {
    out_.raw(i.bytes, i.length);
    return;
  }
  std::int32_t displacement;
  std::memcpy(&displacement, i.bytes + i.displacement_offset, 4);
  const std::uint64_t target = i.next() + static_cast<std::uint64_t>(static_cast<std::int64_t>(displacement));
  const std::uint64_t next_host = out_.address() + i.length;
  if (!reaches(next_host, target)) {
    copy_far_relative(i);
    return;
  }
  std::uint8_t moved[15];
  std::memcpy(moved, i.bytes, i.length);
  const auto relative = static_cast<std::int32_t>(target - next_host);
  std::memcpy(moved + i.displacement_offset, &relative, 4);
  out_.raw(moved, i.length);
}

/// A RIP-relative operand out of reach: the address goes into a low register that the instruction does not
/// use. ModRM becomes [register], without displacement.
void BlockBuilder::copy_far_relative(const Instruction& i) {
  std::int32_t displacement;
  std::memcpy(&displacement, i.bytes + i.displacement_offset, 4);
  const std::uint64_t target = i.next() + static_cast<std::uint64_t>(static_cast<std::int64_t>(displacement));
  int reg = kRdi;
  while ((i.gpr_read | i.gpr_write) >> reg & 1 || reg == kRsp || reg == kRbp || reg == kRcx) --reg;
  std::uint8_t moved[15];
  std::memcpy(moved, i.bytes, i.length);
  const unsigned modrm_at = i.displacement_offset - 1u;
  moved[modrm_at] = static_cast<std::uint8_t>((moved[modrm_at] & 0x38) | reg);
  // RIP-relative addressing ignores REX.B and VEX.B; plain addressing does not.
  unsigned opcode = 0;
  while (is_legacy_prefix(moved[opcode]) || is_rex(moved[opcode])) ++opcode;
  if (moved[opcode] == 0xc4) moved[opcode + 1] |= 0x20;
  if (opcode > 0 && is_rex(moved[opcode - 1])) moved[opcode - 1] &= 0xfe;  // only the last REX prefix counts
  out_.store(cpu_field(kOffsetScratch), reg);
  out_.move_imm(reg, target);
  range(i, reg);
  out_.raw(moved, i.displacement_offset);
  out_.raw(i.bytes + i.displacement_offset + 4, i.immediate_bytes);
  range(i);
  out_.load(reg, cpu_field(kOffsetScratch));
}

void BlockBuilder::special(std::size_t n) {
  const Instruction& i = code_block_.instructions[n];
  switch (i.kind) {
    case InstructionClass::kSystemCall:
      full_exit(i, ExitReason::kSystemCall);
      return;
    case InstructionClass::kCpuid:
      full_exit(i, ExitReason::kCpuid);
      return;
    case InstructionClass::kReadClock:
      full_exit(i, ExitReason::kReadClock, i.mnemonic == ZYDIS_MNEMONIC_RDTSCP);
      return;
    case InstructionClass::kSerializing:
      full_exit(i, ExitReason::kFence, i.mnemonic == ZYDIS_MNEMONIC_MFENCE);
      return;
    case InstructionClass::kReadXcr:
      full_exit(i, ExitReason::kReadXcr);
      return;
    case InstructionClass::kTransactionBegin:
      full_exit(i, ExitReason::kTransactionBegin, 0, i.target);
      return;
    case InstructionClass::kAlwaysAbortBegin:
      full_exit(i, ExitReason::kAlwaysAbortBegin, 0, i.target);
      return;
    case InstructionClass::kTransactionEnd:
      full_exit(i, ExitReason::kTransactionEnd);
      return;
    case InstructionClass::kTransactionAbort:
      full_exit(i, ExitReason::kTransactionAbort, i.bytes[i.length - 1]);
      return;
    case InstructionClass::kTransactionTest:
      transaction_test(0);
      return;
    case InstructionClass::kAlwaysAbortTest:
      transaction_test(1);
      return;
    case InstructionClass::kPause:
      exit_if_in_transaction(n);
      return;
    case InstructionClass::kMark:
      how_.watches_marks ? full_exit(i, ExitReason::kMark) : copy(i);
      return;
    case InstructionClass::kPartMarker:
      part_marker(i);
      return;
    case InstructionClass::kRandom:
      full_exit(i, ExitReason::kRandom);
      return;
    case InstructionClass::kGather:
    case InstructionClass::kFlush:
    case InstructionClass::kMaskedMove:
    case InstructionClass::kBitString:
      if (i.aborts_transaction) exit_if_in_transaction(n);
      if (i.x87) start_x87(n);
      if (!is_counted()) full_exit(i, ExitReason::kComplexAccess);
      copy(i);
      return;
    case InstructionClass::kUnsupported:
      full_exit(i, ExitReason::kUnsupported);
      return;
    case InstructionClass::kTooLong:
      full_exit(i, ExitReason::kGeneralProtection);
      return;
    case InstructionClass::kUndefined:
      if (i.length == 0) return full_exit(i, ExitReason::kUndefined);
      break;
    case InstructionClass::kDirection:
      exit_if_direction_changes(n);
      break;
    case InstructionClass::kStateSave:
      exit_if_in_transaction(n), state_save(n);
      return;
    case InstructionClass::kString:
      if ((i.rep || i.repne) && !is_counted()) return string(n);
      break;
    default:
      break;
  }
  if (aborts_transaction(i)) exit_if_in_transaction(n);
  if (i.x87) start_x87(n);
  access_checks(n);
  if (i.accesses > 0) range(i);
  if (i.mnemonic == ZYDIS_MNEMONIC_POPF || i.mnemonic == ZYDIS_MNEMONIC_POPFQ) return pop_flags(i);
  copy(i);
  if (i.kind == InstructionClass::kWriteFsBase) note_fs_base(i);
  if (i.mnemonic == ZYDIS_MNEMONIC_PUSHFQ) add_system_flags();
  if (i.kind == InstructionClass::kDirection) out_.store_imm8(cpu_field(kOffsetDirection), sets_direction(i));
}

/// Records the FS base after WRFSBASE, which may fault. Without REX.W it clears the upper 32 bits.
void BlockBuilder::note_fs_base(const Instruction& i) {
  constexpr unsigned kFromEnd = 4;  // REX, 0F, AE, ModRM
  const int reg = __builtin_ctz(i.gpr_read);
  const bool wide = i.length >= kFromEnd && (i.bytes[i.length - kFromEnd] & 0xf8) == 0x48;
  if (wide) return out_.store(cpu_field(kOffsetFsBase), reg);
  out_.store32(cpu_field(kOffsetFsBase), reg);
  out_.store_imm32(cpu_field(kOffsetFsBase + 4), 0);
}

/// XSAVE and its variants. The host may have enabled more state components than the virtual CPU (XCR0 = 7),
/// and the guest's buffer has no room for those. So the mask in EAX is limited to the guest's components.
void BlockBuilder::state_save(std::size_t n) {
  const Instruction& i = code_block_.instructions[n];
  obeys_mask(i) ? start_x87_if_chosen(n) : start_x87(n);
  access_checks(n);
  if (!obeys_mask(i)) return copy(i);
  const bool live = flags_live(n);
  if (live) save_flags();
  out_.store(cpu_field(kOffsetScratch + 24), kRax);
  out_.byte(0x83), out_.byte(0xe0), out_.byte(0x07);  // and eax, 7
  if (live) restore_flags();
  copy(i);
  out_.load(kRax, cpu_field(kOffsetScratch + 24));
}

/// String operations with a repeat prefix. REP MOVS and REP STOS run in steps: the helper elision_string_step
/// makes the accesses of each step in the model first. The others run one element at a time.
void BlockBuilder::string(std::size_t n) {
  const Instruction& i = code_block_.instructions[n];
  const std::uint8_t opcode = i.bytes[i.length - 1] & 0xfe;
  if (opcode != 0xa4 && opcode != 0xaa) return string_by_steps(n);
  const std::uint64_t top = out_.address();
  const bool live = flags_live(n);
  out_.byte(0xe3), out_.byte(0);  // jrcxz done
  std::uint8_t* done = out_.here() - 1;
  if (live) save_flags();
  AccessCheck check{};
  check.retry = top;
  check.pc = i.pc;
  check.size = i.access[0].size;
  check.kind = opcode == 0xa4;  // 1: MOVS, 0: STOS
  AccessCheck* description = cache_.allocate_meta(check);
  out_.store_imm64(cpu_field(kOffsetAccessCheck),
                   static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(description)));
  out_.jump_through(MemoryOperand{
      .displacement = static_cast<std::int64_t>(stub_slot(static_cast<unsigned>(Stub::kString)))});
  description->done = out_.address();
  if (live) restore_flags();
  out_.load(kRcx, cpu_field(kOffsetChunk));  // elements in this step
  range(i, kRcx);
  out_.raw(i.bytes, i.length);
  range(i);
  out_.load(kRcx, cpu_field(kOffsetScratch));  // elements left after it
  Emitter::patch(out_.jump(), top);
  out_.land_short(done);
}

void BlockBuilder::string_by_steps(std::size_t n) {
  // REP LODS, REPE CMPS and REPE SCAS on Haswell to Skylake (Agner Fog, Instruction tables, 2022).
  constexpr std::uint32_t kCyclesPerElement = 2;
  const Instruction& i = code_block_.instructions[n];
  const std::uint8_t opcode = i.bytes[i.length - 1] & 0xfe;
  // JRCXZ changes no flags but has only a short form: it jumps to a jump to the end.
  const std::uint64_t top = out_.address();
  out_.byte(0xe3), out_.byte(2);  // jrcxz +2
  out_.byte(0xeb), out_.byte(5);  // jmp +5
  std::uint8_t* done = out_.jump();
  const bool live = flags_live(n);
  if (live) save_flags();
  charge(kCyclesPerElement * kTicksPerCycle, 0);
  leave_if_out_of_budget(i.pc);
  if (live) restore_flags();
  access_checks(n);
  range(i);
  for (unsigned k = 0; k < i.length; ++k)
    if (i.bytes[k] != 0xf3 && i.bytes[k] != 0xf2) out_.byte(i.bytes[k]);
  out_.lea(kRcx, kRcx, -1);
  const bool compares = opcode == 0xa6 || opcode == 0xae;
  if (compares) {
    Emitter::patch(out_.jump_if(i.repne ? kNotEqual : kEqual), top);
  } else {
    Emitter::patch(out_.jump(), top);
  }
  out_.land(done);
}

}  // namespace elision::vm
