// SPDX-License-Identifier: Apache-2.0
#include "generator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "undefined_flags.h"
#include "vm/decode/instruction_form.h"

namespace differential {
namespace {

constexpr unsigned kMostDepth = 2;
constexpr std::int64_t kFarthest = 2048;

/// Instructions with machine-dependent results, or that could leave the sequence.
bool denied(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPMC:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
    case ZYDIS_MNEMONIC_XGETBV:
    case ZYDIS_MNEMONIC_SGDT:
    case ZYDIS_MNEMONIC_SIDT:
    case ZYDIS_MNEMONIC_SLDT:
    case ZYDIS_MNEMONIC_STR:
    case ZYDIS_MNEMONIC_SMSW:
    case ZYDIS_MNEMONIC_LAR:
    case ZYDIS_MNEMONIC_LSL:
    case ZYDIS_MNEMONIC_VERR:
    case ZYDIS_MNEMONIC_VERW:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XEND:
    case ZYDIS_MNEMONIC_XTEST:
    // These show the address of the last x87 instruction, and the kernel's data in unused fields.
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
    case ZYDIS_MNEMONIC_XSAVES:
    case ZYDIS_MNEMONIC_XSAVES64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
    case ZYDIS_MNEMONIC_XRSTORS:
    case ZYDIS_MNEMONIC_XRSTORS64:
    case ZYDIS_MNEMONIC_POPF:  // could set the trap flag; flags_instruction() has those that do not
    case ZYDIS_MNEMONIC_POPFD:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_MONITOR:
    case ZYDIS_MNEMONIC_MWAIT:
    case ZYDIS_MNEMONIC_SWAPGS:
    case ZYDIS_MNEMONIC_RDFSBASE:
    case ZYDIS_MNEMONIC_RDGSBASE:
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
      return true;
    default:
      return false;
  }
}

/// Instructions that always fault here, of which a few are enough.
bool only_faults(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_CLI:
    case ZYDIS_MNEMONIC_STI:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
      return true;
    default:
      return false;
  }
}

/// F3 90 with REX.B: PAUSE on Intel's CPUs, XCHG RAX, R8 on AMD's.
bool differs_by_maker(const ZydisDecodedInstruction& i) {
  return i.mnemonic == ZYDIS_MNEMONIC_PAUSE && (i.attributes & ZYDIS_ATTRIB_HAS_REX) != 0 && i.raw.rex.B != 0;
}

/// A vector operand that faults, for other instructions than VEX ones, unless it is aligned, which R13 is.
bool may_be_misaligned(const ZydisDecodedInstruction& i, const ZydisDecodedOperand& o) {
  return i.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && o.size >= 128 &&
         (o.mem.base != ZYDIS_REGISTER_R13 || o.mem.index != ZYDIS_REGISTER_NONE ||
          o.mem.disp.value % 16 != 0);
}

bool known_extension(ZydisISAExt extension) {
  switch (extension) {
    case ZYDIS_ISA_EXT_ADOX_ADCX:
    case ZYDIS_ISA_EXT_AES:
    case ZYDIS_ISA_EXT_AVX:
    case ZYDIS_ISA_EXT_AVX2:
    case ZYDIS_ISA_EXT_AVX2GATHER:
    case ZYDIS_ISA_EXT_BASE:
    case ZYDIS_ISA_EXT_BMI1:
    case ZYDIS_ISA_EXT_BMI2:
    case ZYDIS_ISA_EXT_CET:  // no-operations where shadow stacks are off
    case ZYDIS_ISA_EXT_F16C:
    case ZYDIS_ISA_EXT_FMA:
    case ZYDIS_ISA_EXT_LONGMODE:
    case ZYDIS_ISA_EXT_LZCNT:
    case ZYDIS_ISA_EXT_MMX:
    case ZYDIS_ISA_EXT_MOVBE:
    case ZYDIS_ISA_EXT_PAUSE:
    case ZYDIS_ISA_EXT_PCLMULQDQ:
    case ZYDIS_ISA_EXT_SSE:
    case ZYDIS_ISA_EXT_SSE2:
    case ZYDIS_ISA_EXT_SSE3:
    case ZYDIS_ISA_EXT_SSE4:
    case ZYDIS_ISA_EXT_SSSE3:
    case ZYDIS_ISA_EXT_X87:
      return true;
    default:
      return false;
  }
}

bool leaves(ZydisInstructionCategory category) {
  switch (category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_STRINGOP:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_UNCOND_BR:
      return true;
    default:
      return false;
  }
}

bool is_bit_test(ZydisMnemonic m) {
  return m == ZYDIS_MNEMONIC_BT || m == ZYDIS_MNEMONIC_BTS || m == ZYDIS_MNEMONIC_BTR ||
         m == ZYDIS_MNEMONIC_BTC;
}

ZydisRegister whole(ZydisRegister reg) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

bool reserved(ZydisRegister reg) {
  const ZydisRegister whole_reg = whole(reg);
  return whole_reg == ZYDIS_REGISTER_RSP ||
         (whole_reg >= ZYDIS_REGISTER_R12 && whole_reg <= ZYDIS_REGISTER_R15);
}

}  // namespace

Generator::Generator(const Layout& layout, std::uint64_t seed, const std::vector<Example>& examples,
                     Flips flips)
    : layout_(layout), flips_(flips), draw_(seed), examples_(examples) {
  ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

const std::vector<std::uint8_t>& Generator::generate(std::uint64_t end) {
  code_.clear();
  followed_ = 0;
  undefined_ = kAllFlags;
  // Random flags: flags from before the jump need not be preserved (ABI).
  bytes({0x68}), word32(draw_.next() & 0x8d5);
  bytes({0x9d});
  const unsigned pieces = 2 + draw_.below(8);
  for (unsigned piece = 0; piece < pieces; ++piece) {
    straight(1 + draw_.below(6));
    switch (draw_.below(6)) {
      case 0:
        branch_over();
        break;
      case 1:
        loop();
        break;
      case 2:
        call();
        break;
      case 3:
        indirect();
        break;
      default:
        break;
    }
  }
  // The flags to memory, since compilers pass none through an indirect jump; then jmp [rip].
  follow_flags();
  undefined_at_end_ = undefined_;
  bytes({0x9c, 0x41, 0x8f, 0x85}), word32(kSavedFlags);
  bytes({0x48, 0xc7, 0x44, 0x24, 0xf8, 0, 0, 0, 0});  // mov qword [rsp - 8], 0: nor is a copy left there
  bytes({0xff, 0x25, 0, 0, 0, 0});
  word32(end), word32(end >> 32);
  return code_;
}

void Generator::add_forms(std::set<std::string>& forms) const {
  constexpr std::size_t kAddressAtTheEnd = 8;
  for (std::size_t at = 0; at + kAddressAtTheEnd < code_.size();) {
    const std::span<const std::uint8_t> rest(&code_[at], code_.size() - at);
    ZydisDecodedInstruction i;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, nullptr, rest.data(), rest.size(), &i)))
      return;
    forms.insert(elision::vm::instruction_form(rest.first(i.length)));
    at += i.length;
  }
}

std::string Generator::listing() const {
  std::string text;
  ZydisDisassembledInstruction i;
  for (std::size_t at = 0; at + 8 < code_.size() &&
                           ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, layout_.code + at,
                                                              &code_[at], code_.size() - at, &i));
       at += i.info.length) {
    char address[32];
    std::snprintf(address, sizeof address, "%llx: ", static_cast<unsigned long long>(layout_.code) + at);
    text += address;
    for (unsigned k = 0; k < i.info.length; ++k) {
      char byte[4];
      std::snprintf(byte, sizeof byte, "%02x", code_[at + k]);
      text += byte;
    }
    text += std::string(" ") + i.text + "\n";
  }
  return text;
}

void Generator::bytes(std::initializer_list<unsigned> some) {
  for (const unsigned one : some) code_.push_back(static_cast<std::uint8_t>(one));
}

void Generator::word32(std::uint64_t value) {
  for (unsigned k = 0; k < 4; ++k) code_.push_back(static_cast<std::uint8_t>(value >> (8 * k)));
}

void Generator::jump_to(std::uint64_t target) {
  bytes({0xe9});
  word32(target - (here() + 4));
}

void Generator::straight(unsigned instructions) {
  for (unsigned k = 0; k < instructions; ++k) {
    if (draw_.percent(15)) {
      special();
    } else if (!examples_.empty() && draw_.percent(60)) {
      like_an_example();
    } else {
      random_instruction();
    }
  }
}

void Generator::random_instruction() {
  while (!try_random()) {
  }
}

/// ModRM, SIB and displacement.
void Generator::operand_bytes(std::vector<std::uint8_t>& b, Operand operand) {
  const unsigned reg = draw_.below(8) << 3;
  const bool any = operand == Operand::kAny;
  const auto add = [&](std::uint64_t value, unsigned count) {
    for (unsigned k = 0; k < count; ++k) b.push_back(static_cast<std::uint8_t>(value >> (8 * k)));
  };
  if (operand == Operand::kThread) {
    add(reg | 4, 1), add(0x25, 1);
    return add(static_cast<std::uint64_t>(layout_.thread) + 32 * draw_.below(8), 4);
  }
  if (operand == Operand::kRegister || (any && draw_.percent(50))) return add(0xc0 | reg | draw_.below(8), 1);
  // Half of them aligned, for vectors.
  const bool aligned = draw_.percent(50);
  const auto displacement = (static_cast<std::int32_t>(draw_.below(2048)) - 1024) & (aligned ? -32 : -1);
  if (operand == Operand::kRipRelative ||
      (any &&
       draw_.percent(8))) {  // relative to RIP, or the bare address, by what the caller knows of the rest
    add(reg | 5, 1);
    return add(0, 4);
  }
  const bool wide = draw_.percent(50);
  const unsigned base = draw_.percent(4) ? 7 : aligned ? 5 : 5 + draw_.below(2);  // with REX.B: R15, R13, R14
  if (!aligned && draw_.percent(40)) {  // R13 or R14, and R12 scaled
    add((wide ? 0x80u : 0x40u) | reg | 4, 1);
    add(draw_.below(4) << 6 | 4u << 3 | (5 + draw_.below(2)), 1);
  } else {
    add((wide ? 0x80u : 0x40u) | reg | base, 1);
  }
  add(static_cast<std::uint64_t>(static_cast<std::int64_t>(wide ? displacement : displacement % 128)),
      wide ? 4 : 1);
}

bool Generator::try_random() {
  std::vector<std::uint8_t> b;
  const bool vex = draw_.percent(30);
  if (vex) {
    const unsigned map = 1 + draw_.below(3);
    // R, X and B are stored inverted: B and X of 0 are what reaches R12 to R15.
    const unsigned rxb = draw_.percent(60) ? draw_.below(2) << 2 : draw_.below(8);
    b = {0xc4, static_cast<std::uint8_t>(rxb << 5 | map), static_cast<std::uint8_t>(draw_.below(256))};
    b.push_back(static_cast<std::uint8_t>(draw_.below(256)));
  } else {
    if (draw_.percent(5)) b.push_back(0xf0);
    if (draw_.percent(15)) b.push_back(0x66);
    if (draw_.percent(12)) b.push_back(draw_.percent(50) ? 0xf2 : 0xf3);
    if (draw_.percent(75)) b.push_back(static_cast<std::uint8_t>(0x40 | draw_.below(16)));
    const unsigned map = draw_.below(100);
    if (map >= 45) b.push_back(0x0f);
    if (map >= 85) b.push_back(map < 95 ? 0x38 : 0x3a);
    b.push_back(static_cast<std::uint8_t>(draw_.below(256)));
  }
  operand_bytes(b, Operand::kAny);
  return add_if_acceptable(b, "");
}

/// Some forms cannot occur here: those that leave the sequence or access arbitrary memory.
void Generator::like_an_example() {
  constexpr unsigned kTries = 60;
  const Example& example = examples_[draw_.below(static_cast<unsigned>(examples_.size()))];
  for (unsigned k = 0; k < kTries; ++k)
    if (try_like(example)) return;
  random_instruction();
}

/// The example's prefixes and opcode with other registers, other memory and other immediate values.
bool Generator::try_like(const Example& example) {
  ZydisDecodedInstruction i;
  if (!ZYAN_SUCCESS(
          ZydisDecoderDecodeInstruction(&decoder_, nullptr, example.bytes.data(), example.bytes.size(), &i)))
    return false;
  const bool has_modrm = (i.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0;
  const std::size_t kept =
      has_modrm ? i.raw.modrm.offset : i.length - i.raw.imm[0].size / 8 - i.raw.imm[1].size / 8;
  std::vector<std::uint8_t> b(example.bytes.begin(),
                              example.bytes.begin() + static_cast<std::ptrdiff_t>(kept));
  if (i.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) {
    // R, X and B are stored inverted. The encoding of two bytes has only R, and reaches none of R13 to R15.
    const auto at = static_cast<std::ptrdiff_t>(i.raw.vex.offset);
    if (i.raw.vex.size == 2 && draw_.percent(70)) {
      b[i.raw.vex.offset] = 0xc4;
      b.insert(b.begin() + at + 1, 0x01);  // map 1
      b[i.raw.vex.offset + 2u] &= 0x7f;    // W
      b[i.raw.vex.offset + 1u] |= static_cast<std::uint8_t>(draw_.below(8) << 5);
    } else {
      const unsigned changed = i.raw.vex.size == 3 ? draw_.below(8) << 5 : draw_.below(2) << 7;
      b[i.raw.vex.offset + 1u] = static_cast<std::uint8_t>(b[i.raw.vex.offset + 1u] ^ changed);
    }
  } else if (i.attributes & ZYDIS_ATTRIB_HAS_REX) {
    b[i.raw.rex.offset] = static_cast<std::uint8_t>((b[i.raw.rex.offset] & 0xf8) | draw_.below(8));
  } else if (draw_.percent(60)) {
    b.insert(b.begin() + i.raw.prefix_count, static_cast<std::uint8_t>(0x40 | draw_.below(8)));
  }
  if (has_modrm) {
    const std::size_t at = b.size();
    const bool rip = i.raw.modrm.mod == 0 && i.raw.modrm.rm == 5;
    const bool thread = (i.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS) != 0;
    operand_bytes(b, thread                 ? Operand::kThread
                     : rip                  ? Operand::kRipRelative
                     : i.raw.modrm.mod == 3 ? Operand::kRegister
                                            : Operand::kMemory);
    if (draw_.percent(50)) b[at] = static_cast<std::uint8_t>((b[at] & 0xc7) | i.raw.modrm.reg << 3);
  }
  return add_if_acceptable(b, example.form);
}

/// The value for CL before a shift by it; nothing: leave CL unchanged. With a known count it is known which
/// flags the shift leaves undefined (none for 0). A known count is required where a count above the operand's
/// size has no defined result.
std::optional<unsigned> Generator::count_in_cl(const ZydisDecodedInstruction& i,
                                               const ZydisDecodedOperand* operands) {
  if (!shifts_by_cl(i, operands)) return std::nullopt;
  const bool any_will_do = effects_on_flags(i, operands).result_defined;
  if (any_will_do && draw_.percent(50)) return std::nullopt;
  return draw_.percent(40) ? draw_.below(2) : draw_.below(any_will_do ? 256 : operands[0].size + 1);
}

/// Completes `b` with random immediate bytes. False, with nothing added, if it is not an instruction, not
/// acceptable, or not of the wanted form.
bool Generator::add_if_acceptable(std::vector<std::uint8_t>& b, const std::string& form) {
  for (unsigned k = 0; k < 8; ++k) b.push_back(static_cast<std::uint8_t>(draw_.next() >> 40));

  ZydisDecodedInstruction i;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, b.data(), b.size(), &i, operands))) return false;
  if (!acceptable(i, operands)) return false;
  if (!form.empty() && elision::vm::instruction_form({b.data(), i.length}) != form) return false;
  const std::optional<unsigned> cl = count_in_cl(i, operands);
  const FlagEffects effects = effects_on_flags(i, operands, cl);
  if (!effects.result_defined) return false;
  require_flags(effects.reads);
  if (cl) bytes({0xb1, *cl});  // mov cl, n
  if (i.raw.modrm.mod == 0 && i.raw.modrm.rm == 5 && (i.attributes & ZYDIS_ATTRIB_HAS_MODRM)) {
    const std::uint64_t wanted = layout_.near + 64 + draw_.below(Layout::kNearBytes - 128);
    const std::uint64_t relative = wanted - (here() + i.length);
    for (unsigned k = 0; k < 4; ++k)
      b[i.raw.disp.offset + k] = static_cast<std::uint8_t>(relative >> (8 * k));
  }
  code_.insert(code_.end(), b.begin(), b.begin() + i.length);
  undefined_ = undefined_behind(undefined_, effects);
  followed_ = code_.size();
  if ((effects.undefines | effects.sets) != 0) flip_flags();
  return true;
}

/// Brings undefined_ up to the end of code_, as if it were straight code.
void Generator::follow_flags() {
  while (followed_ < code_.size()) {
    ZydisDecodedInstruction i;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(&decoder_, &code_[followed_], code_.size() - followed_, &i, operands)))
      std::abort();
    undefined_ = undefined_behind(undefined_, effects_on_flags(i, operands));
    followed_ += i.length;
  }
}

/// The following code reads these flags.
void Generator::require_flags(std::uint32_t read) {
  follow_flags();
  if ((undefined_ & read) == 0) return;
  bytes({0x48, 0x39, 0xc8});  // cmp rax, rcx
  undefined_ = 0;
  followed_ = code_.size();
}

void Generator::require_flags_of(std::initializer_list<unsigned> instruction) {
  std::vector<std::uint8_t> b;
  for (const unsigned one : instruction) b.push_back(static_cast<std::uint8_t>(one));
  ZydisDecodedInstruction i;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, b.data(), b.size(), &i, operands))) std::abort();
  require_flags(effects_on_flags(i, operands).reads);
}

/// The code of Flip: pushes the flags, changes them, pops them, and clears the word below the stack.
void Generator::flip_flags() {
  if (flips_.what == Flip::kNo) return;
  const std::uint64_t random = draw_.next();
  std::uint64_t flipped = 0;
  if (flips_.what == Flip::kUndefined) flipped = random & undefined_;
  if (flips_.what == Flip::kDefined) flipped = flips_.flags & kAllFlags & ~undefined_;
  bytes({0x9c, 0x81, 0x34, 0x24}), word32(flipped);        // pushfq; xor dword [rsp], n
  bytes({0x9d, 0x48, 0xc7, 0x44, 0x24, 0xf8}), word32(0);  // popfq; mov qword [rsp - 8], 0
  followed_ = code_.size();
}

bool Generator::in_thread_area(const ZydisDecodedOperand& o) const {
  constexpr std::int64_t kFarthestAccess = Layout::kThreadBytes - 64;
  return o.mem.base == ZYDIS_REGISTER_NONE && o.mem.index == ZYDIS_REGISTER_NONE &&
         o.mem.disp.value >= layout_.thread && o.mem.disp.value <= layout_.thread + kFarthestAccess;
}

bool Generator::acceptable(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands) {
  if (denied(i.mnemonic) || differs_by_maker(i) || leaves(i.meta.category) ||
      !known_extension(i.meta.isa_ext))
    return false;
  if (i.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE) return false;
  if (only_faults(i.mnemonic) && !draw_.percent(3)) return false;
  for (unsigned k = 0; k < i.operand_count; ++k) {
    const ZydisDecodedOperand& o = operands[k];
    if (o.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      const ZydisRegisterClass kind = ZydisRegisterGetClass(o.reg.value);
      if (kind == ZYDIS_REGCLASS_SEGMENT || kind == ZYDIS_REGCLASS_CONTROL || kind == ZYDIS_REGCLASS_DEBUG ||
          kind == ZYDIS_REGCLASS_TABLE)
        return false;
      const bool hidden = o.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
      if ((o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) && reserved(o.reg.value) &&
          !(hidden && whole(o.reg.value) == ZYDIS_REGISTER_RSP && !keep_stack_))
        return false;
    } else if (o.type == ZYDIS_OPERAND_TYPE_POINTER) {
      return false;
    } else if (o.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      if (o.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
      if (o.mem.type == ZYDIS_MEMOP_TYPE_VSIB || o.mem.segment == ZYDIS_REGISTER_GS) return false;
      if (o.mem.segment == ZYDIS_REGISTER_FS) {
        if (!in_thread_area(o)) return false;
        continue;
      }
      const ZydisRegister base = o.mem.base;
      if (base != ZYDIS_REGISTER_NONE && base != ZYDIS_REGISTER_RIP &&
          !(base >= ZYDIS_REGISTER_R13 && base <= ZYDIS_REGISTER_R15) && base != ZYDIS_REGISTER_RSP)
        return false;
      if (base == ZYDIS_REGISTER_NONE) return false;
      // The return address lies there.
      if (base == ZYDIS_REGISTER_RSP && keep_stack_ && (o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        return false;
      // The operand's bytes may have become another prefix.
      if (base != ZYDIS_REGISTER_RIP && (o.mem.disp.value < -kFarthest || o.mem.disp.value > kFarthest))
        return false;
      if (may_be_misaligned(i, o) && !draw_.percent(5)) return false;
      if (o.mem.index != ZYDIS_REGISTER_NONE && o.mem.index != ZYDIS_REGISTER_R12) return false;
      if (is_bit_test(i.mnemonic) && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) return false;
    }
  }
  return true;
}

void Generator::special() {
  switch (draw_.below(5)) {
    case 0:
      return string_instruction();
    case 1:
      return bit_test_in_memory();
    case 2:
      return gather();
    case 3:
      return stack_instruction();
    default:
      return flags_instruction();
  }
}

/// MOVS, STOS, LODS, CMPS, SCAS of all sizes, alone or repeated, forwards and backwards.
void Generator::string_instruction() {
  const bool backwards = draw_.percent(20);
  bytes({0x49, 0x8d, 0xb5}), word32(draw_.below(1024));              // lea rsi, [r13 + n]
  bytes({0x49, 0x8d, 0xbe}), word32(draw_.below(1024));              // lea rdi, [r14 + n]
  bytes({0xb9}), word32(draw_.below(draw_.percent(30) ? 300 : 12));  // mov ecx, n
  if (backwards) bytes({0xfd});
  if (draw_.percent(70)) bytes({draw_.percent(50) ? 0xf2u : 0xf3u});
  const unsigned size = draw_.below(4);
  if (size == 1) bytes({0x66});
  if (size == 3) bytes({0x48});
  constexpr unsigned kBytewise[] = {0xa4, 0xaa, 0xac, 0xa6, 0xae};
  bytes({kBytewise[draw_.below(5)] + (size != 0 ? 1 : 0)});
  if (backwards) bytes({0xfc});
}

/// BT, BTS, BTR, BTC of a register's bit number in memory, which reaches beyond the operand.
void Generator::bit_test_in_memory() {
  const unsigned reg = draw_.below(2) + 6;                         // RSI or RDI
  bytes({0x81, 0xe0 | reg}), word32(0x7ff);                        // and reg, 2047
  if (draw_.percent(50)) bytes({0x81, 0xe8 | reg}), word32(1024);  // sub reg, 1024
  const unsigned size = draw_.below(3);
  if (size == 2) bytes({0x48, 0x63, 0xc0 | reg << 3 | reg});  // movsxd: a 32-bit number would lie far away
  if (draw_.percent(20)) bytes({0xf0});
  if (size == 1) bytes({0x66});
  constexpr unsigned kOpcodes[] = {0xa3, 0xab, 0xb3, 0xbb};
  const unsigned opcode = kOpcodes[draw_.below(4)];
  if (!code_.empty() && opcode == 0xa3 && code_[code_.size() - (size == 1 ? 2 : 1)] == 0xf0)
    code_.erase(code_.end() - (size == 1 ? 2 : 1));  // BT cannot be locked
  bytes({size == 2 ? 0x49u : 0x41u, 0x0f, opcode, 0x80 | reg << 3 | 5 | draw_.below(2)});
  word32(draw_.below(256));
  follow_flags();
  flip_flags();
}

/// VPGATHER and VGATHER with small indices and a random mask.
void Generator::gather() {
  const unsigned index = draw_.below(8), mask = (index + 1 + draw_.below(3)) % 8,
                 into = (index + 4 + draw_.below(3)) % 8;
  // Indices of at most 255: shift what is there to the right, in lanes of 32 or 64 bits.
  const bool wide_indices = draw_.percent(50), wide = draw_.percent(50);
  const unsigned length = draw_.percent(50) ? 4 : 0;
  bytes({0xc5, (~index & 15) << 3 | 4 | 1, wide_indices ? 0x73u : 0x72u, 0xd0 | index,
         wide_indices ? 56u : 24u});
  // vpgather: c4 with R X B inverted (B clear: r13, r14), map 2, W, vvvv = mask, L, pp = 66
  const unsigned opcode = (wide_indices ? 0x91u : 0x90u) + (draw_.percent(50) ? 2 : 0);
  bytes({0xc4, 0xc2, (wide ? 0x80u : 0u) | (~mask & 15) << 3 | length | 1, opcode, 0x44 | into << 3,
         draw_.below(4) << 6 | index << 3 | (5 + draw_.below(2)), draw_.below(128)});
}

void Generator::stack_instruction() {
  const unsigned reg = draw_.below(4);
  switch (draw_.below(6)) {
    case 0:
      if (!keep_stack_) bytes({0x50 | reg});
      return;
    case 5:
      bytes({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec,
             draw_.below(16) * 8});  // push rbp; mov rbp, rsp; sub rsp, n
      bytes({0x89, 0x04, 0x24});     // mov [rsp], eax
      return bytes({0xc9});          // leave
    case 1:
      bytes({0x50 | reg});
      random_instruction();
      return bytes({0x58 | draw_.below(4)});
    case 2:  // push [r13 + n], pop [r14 + n]
      bytes({0x41, 0xff, 0xb5}), word32(draw_.below(1024));
      return bytes({0x41, 0x8f, 0x86}), word32(draw_.below(1024));
    case 3:  // below the stack pointer, and above
      bytes({0x48, 0x89, 0x44 | reg << 3, 0x24, 0x80 | draw_.below(120)});
      return bytes({0x48, 0x03, 0x44 | reg << 3, 0x24, draw_.below(120)});
    default:
      bytes({0x68}), word32(draw_.next());
      return bytes({0x48, 0x83, 0xc4, 8});  // add rsp, 8
  }
}

/// Flags by way of the stack and AH; XLAT.
void Generator::flags_instruction() {
  switch (draw_.below(5)) {
    case 0:
      bytes({0x68}), word32(draw_.next() & 0xcd5u);  // without TF and IF, and with DF clear half of the time
      bytes({0x9d});
      if (draw_.percent(80)) bytes({0xfc});
      return;
    case 1:
      require_flags(kAllFlags);
      return bytes({0x9c, 0x58 | draw_.below(4)});
    case 2: {
      const unsigned opcode = draw_.percent(50) ? 0x9eu : 0x9fu;
      require_flags_of({opcode});
      return bytes({opcode});
    }
    case 3:
      bytes({0x49, 0x8d, 0x9d}), word32(draw_.below(512));  // lea rbx, [r13 + n]
      return bytes({0xd7});
    default: {
      const unsigned opcode = draw_.percent(50) ? 0xf5u : draw_.percent(50) ? 0xf8u : 0xf9u;
      require_flags_of({opcode});
      return bytes({opcode});
    }
  }
}

/// A branch with a displacement of one byte, if what follows fits.
void Generator::branch_over_few(unsigned opcode) {
  require_flags_of({opcode, 0});
  const std::uint32_t undefined = undefined_;
  bytes({opcode, 0});
  const std::size_t at = code_.size();
  straight(1 + draw_.below(2));
  follow_flags();
  undefined_ |= undefined;
  const std::size_t distance = code_.size() - at;
  if (distance <= 127) {
    code_[at - 1] = static_cast<std::uint8_t>(distance);
    return;
  }
  code_.resize(at - 2);
  followed_ = code_.size();
  undefined_ = undefined;
}

/// A conditional jump over some instructions, near or far.
void Generator::branch_over() {
  const unsigned condition = draw_.below(17);
  if (condition == 16) return branch_over_few(0xe0 + draw_.below(4));  // loopne, loope, loop, jrcxz
  if (draw_.percent(50)) return branch_over_few(0x70 | condition);
  require_flags_of({0x0f, 0x80 | condition, 0, 0, 0, 0});
  const std::uint32_t undefined = undefined_;
  bytes({0x0f, 0x80 | condition, 0, 0, 0, 0});
  const std::size_t at = code_.size();
  straight(1 + draw_.below(4));
  follow_flags();
  undefined_ |= undefined;
  const auto distance = static_cast<std::uint32_t>(code_.size() - at);
  std::memcpy(&code_[at - 4], &distance, 4);
}

/// A loop of a few rounds, counted in memory that nothing else accesses.
void Generator::loop() {
  if (depth_ >= kMostDepth) return;
  const unsigned counter = 3800 + 8 * depth_++;
  bytes({0x49, 0xc7, 0x85}), word32(counter), word32(1 + draw_.below(20));  // mov qword [r13 + counter], n
  require_flags(kAllFlags);  // so that every round begins with all of them defined, DEC leaving CF alone
  const std::uint64_t begin = here();
  straight(1 + draw_.below(4));
  require_flags(kCarry);
  bytes({0x49, 0xff, 0x8d}), word32(counter);  // dec qword [r13 + counter]
  const std::uint64_t back = here() + 2 - begin;
  if (back <= 128 && draw_.percent(70)) {
    bytes({0x75, static_cast<unsigned>(-back & 0xff)});
  } else {
    bytes({0x0f, 0x85});
    word32(begin - (here() + 4));
  }
  --depth_;
}

/// A function, jumped over, and a call or two of it.
void Generator::call() {
  if (depth_ >= kMostDepth) return;
  ++depth_;
  follow_flags();
  const std::uint32_t undefined = undefined_;
  bytes({0xe9, 0, 0, 0, 0});
  const std::size_t begin = code_.size();
  bytes({0x85, 0xc0});  // test eax, eax: flags do not pass through calls by pointer and returns (ABI)
  const bool kept = keep_stack_;
  keep_stack_ = true;
  straight(1 + draw_.below(4));
  keep_stack_ = kept;
  const bool pops = draw_.percent(20);
  if (pops) {
    bytes({0xc2, 8, 0});
  } else {
    bytes({0xc3});
  }
  follow_flags();
  undefined_ = undefined;
  const auto distance = static_cast<std::uint32_t>(code_.size() - begin);
  std::memcpy(&code_[begin - 4], &distance, 4);
  for (unsigned k = 0; k <= draw_.below(2); ++k) {
    if (pops) bytes({0x50});
    if (draw_.percent(70)) {
      bytes({0xe8}), word32(layout_.code + begin - (here() + 4));
    } else {
      bytes({0x48, 0xb8}), word32(layout_.code + begin), word32((layout_.code + begin) >> 32);
      if (draw_.percent(50)) {
        bytes({0xff, 0xd0});  // call rax
      } else {
        through_memory(2, 0);
      }
    }
    bytes({0x85, 0xc9});  // test ecx, ecx
    straight(draw_.below(2));
  }
  --depth_;
}

/// Jumps through a register, or through memory.
void Generator::indirect() {
  const unsigned reg = draw_.below(4);
  bytes({0x48, 0xb8 | reg});
  const std::size_t at = code_.size();
  word32(0), word32(0);
  bool linkage = false;
  if (draw_.percent(50)) {
    bytes({0xff, 0xe0 | reg});
  } else {
    linkage = through_memory(4, reg);
  }
  traps(draw_.below(12));
  const std::uint64_t target = here();
  std::memcpy(&code_[at], &target, 8);
  if (linkage) bytes({0x85, 0xc0});  // test eax, eax
  if (draw_.percent(50)) jump_over_traps();
}

/// Stores the address in register `from`, and calls (2) or jumps (4) through that memory. True if it has the
/// form of a linkage table's jump, through which flags need not pass.
bool Generator::through_memory(unsigned opcode_extension, unsigned from) {
  const unsigned place = draw_.below(1024);
  bytes({0x49, 0x89, 0x85 | from << 3}), word32(place);  // mov [r13 + n], reg
  if (layout_.code_is_low() && draw_.percent(50)) {
    bytes({0xff, 0x05 | opcode_extension << 3});  // [rip + n]
    word32(layout_.middle(0) + place - (here() + 4));
    return true;
  }
  bytes({0x41, 0xff, 0x85 | opcode_extension << 3}), word32(place);  // [r13 + n]
  return false;
}

void Generator::traps(unsigned count) {
  for (unsigned k = 0; k < count; ++k) bytes({0xcc});
}

void Generator::jump_over_traps() {
  const unsigned skipped = draw_.below(12);
  bytes({0xeb, skipped});
  traps(skipped);
}

}  // namespace differential
