// SPDX-License-Identifier: Apache-2.0
#include "undefined_flags.h"

namespace differential {
namespace {

struct Row {
  ZydisMnemonic mnemonic;
  std::uint32_t undefined;
  std::uint32_t set_too = 0;  // though Zydis has it undefined
};

/// For all operands. BSF, BSR: with a source of 0 the destination does not change (APM; SDM since 2023), so
/// it is not undefined. BT, BTS, BTR, BTC: ZF does not change (SDM), so the virtual machine must keep it.
constexpr Row kRows[] = {
    {ZYDIS_MNEMONIC_AND, kAdjust},
    {ZYDIS_MNEMONIC_OR, kAdjust},
    {ZYDIS_MNEMONIC_XOR, kAdjust},
    {ZYDIS_MNEMONIC_TEST, kAdjust},
    {ZYDIS_MNEMONIC_ANDN, kAdjust | kParity},
    {ZYDIS_MNEMONIC_BLSI, kAdjust | kParity},
    {ZYDIS_MNEMONIC_BLSMSK, kAdjust | kParity},
    {ZYDIS_MNEMONIC_BLSR, kAdjust | kParity},
    {ZYDIS_MNEMONIC_BZHI, kAdjust | kParity},
    {ZYDIS_MNEMONIC_SBB, 0, kAdjust},
    {ZYDIS_MNEMONIC_BEXTR, kAdjust | kParity | kSign, kCarry | kOverflow},
    {ZYDIS_MNEMONIC_MUL, kAdjust | kParity | kSign | kZero},
    {ZYDIS_MNEMONIC_IMUL, kAdjust | kParity | kSign | kZero},
    {ZYDIS_MNEMONIC_DIV, kAllFlags},
    {ZYDIS_MNEMONIC_IDIV, kAllFlags},
    {ZYDIS_MNEMONIC_BSF, kAllFlags & ~kZero},
    {ZYDIS_MNEMONIC_BSR, kAllFlags & ~kZero},
    {ZYDIS_MNEMONIC_LZCNT, kAdjust | kParity | kSign | kOverflow},
    {ZYDIS_MNEMONIC_TZCNT, kAdjust | kParity | kSign | kOverflow},
    {ZYDIS_MNEMONIC_BT, kAdjust | kParity | kSign | kOverflow},
    {ZYDIS_MNEMONIC_BTC, kAdjust | kParity | kSign | kOverflow},
    {ZYDIS_MNEMONIC_BTR, kAdjust | kParity | kSign | kOverflow},
    {ZYDIS_MNEMONIC_BTS, kAdjust | kParity | kSign | kOverflow},
};

/// How a shift's flags depend on its count, which is modulo 32, or 64 with operands of 64 bits.
struct Shift {
  ZydisMnemonic mnemonic;
  std::uint32_t sets;              // unless the count is 0, which changes nothing
  std::uint32_t undefined_by_any;  // undefined with any other count
  bool loses_carry;                // CF is undefined if the count is at least the operand's size
  bool doubled;                    // SHLD, SHRD: with a count above the operand's size nothing is defined
};

constexpr std::uint32_t kOfShifts = kCarry | kOverflow | kSign | kZero | kParity;
constexpr Shift kShifts[] = {
    {ZYDIS_MNEMONIC_SHL, kOfShifts, kAdjust, true, false},
    {ZYDIS_MNEMONIC_SHR, kOfShifts, kAdjust, true, false},
    {ZYDIS_MNEMONIC_SAR, kOfShifts, kAdjust, false, false},
    {ZYDIS_MNEMONIC_SHLD, kOfShifts, kAdjust, false, true},
    {ZYDIS_MNEMONIC_SHRD, kOfShifts, kAdjust, false, true},
    {ZYDIS_MNEMONIC_ROL, kCarry | kOverflow, 0, false, false},
    {ZYDIS_MNEMONIC_ROR, kCarry | kOverflow, 0, false, false},
    {ZYDIS_MNEMONIC_RCL, kOverflow, 0, false, false},  // CF comes from CF
    {ZYDIS_MNEMONIC_RCR, kOverflow, 0, false, false},
};

const Shift* shift_of(ZydisMnemonic mnemonic) {
  for (const Shift& shift : kShifts) {
    if (shift.mnemonic == mnemonic) return &shift;
  }
  return nullptr;
}

/// The operand that holds the count: the last that the instruction shows.
const ZydisDecodedOperand& count_of(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands) {
  return operands[i.operand_count_visible - 1];
}

FlagEffects by_known_count(const Shift& shift, unsigned count, unsigned bits) {
  count &= bits == 64 ? 63 : 31;
  FlagEffects effects;
  if (count == 0) return effects;
  if (shift.doubled && count > bits) return {0, 0, kAllFlags, false};
  effects.undefines = shift.undefined_by_any;
  if (count > 1) effects.undefines |= kOverflow;
  if (shift.loses_carry && count >= bits) effects.undefines |= kCarry;
  effects.sets = shift.sets & ~effects.undefines;
  return effects;
}

/// With a count of 0 flags do not change, and undefined ones stay undefined.
FlagEffects by_any_count(const Shift& shift, unsigned bits) {
  FlagEffects effects = {0, 0, shift.undefined_by_any | kOverflow, true};
  if (shift.loses_carry && bits < 32) effects.undefines |= kCarry;
  if (shift.doubled && bits < 32) effects = {0, 0, kAllFlags, false};
  return effects;
}

std::uint32_t flags_read(const ZydisDecodedInstruction& i) {
  return i.cpu_flags == nullptr ? 0 : i.cpu_flags->tested & kAllFlags;
}

FlagEffects effects_of_shift(const Shift& shift, const ZydisDecodedInstruction& i,
                             const ZydisDecodedOperand* operands, std::optional<unsigned> cl) {
  const ZydisDecodedOperand& count = count_of(i, operands);
  const unsigned bits = operands[0].size;
  FlagEffects effects = count.type == ZYDIS_OPERAND_TYPE_IMMEDIATE
                            ? by_known_count(shift, static_cast<unsigned>(count.imm.value.u), bits)
                        : cl ? by_known_count(shift, *cl, bits)
                             : by_any_count(shift, bits);
  effects.reads = flags_read(i);
  return effects;
}

/// Compares and scans with 0 repetitions set no flags.
bool is_repeated(const ZydisDecodedInstruction& i) {
  return (i.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0 &&
         i.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

}  // namespace

bool shifts_by_cl(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands) {
  return shift_of(i.mnemonic) != nullptr && count_of(i, operands).type == ZYDIS_OPERAND_TYPE_REGISTER;
}

FlagEffects effects_on_flags(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands,
                             std::optional<unsigned> cl) {
  if (const Shift* shift = shift_of(i.mnemonic)) return effects_of_shift(*shift, i, operands, cl);
  FlagEffects effects;
  if (i.cpu_flags == nullptr) return effects;
  std::uint32_t written = i.cpu_flags->modified | i.cpu_flags->set_0 | i.cpu_flags->set_1;
  for (const Row& row : kRows) {
    if (row.mnemonic != i.mnemonic) continue;
    effects.undefines = row.undefined;
    written |= row.set_too;
  }
  effects.reads = flags_read(i);
  if (!is_repeated(i)) effects.sets = written & kAllFlags & ~effects.undefines;
  return effects;
}

}  // namespace differential
