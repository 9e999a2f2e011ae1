// SPDX-License-Identifier: Apache-2.0
#include "vm/decode/instruction_form.h"

#include <Zydis/Zydis.h>

namespace elision::vm {
namespace {

std::string register_kind(const ZydisDecodedOperand& o) {
  switch (ZydisRegisterGetClass(o.reg.value)) {
    case ZYDIS_REGCLASS_XMM:
      return "xmm";
    case ZYDIS_REGCLASS_YMM:
      return "ymm";
    case ZYDIS_REGCLASS_ZMM:
      return "zmm";
    case ZYDIS_REGCLASS_MASK:
      return "k";
    case ZYDIS_REGCLASS_MMX:
      return "mm";
    case ZYDIS_REGCLASS_X87:
      return "st";
    case ZYDIS_REGCLASS_SEGMENT:
      return "sreg";
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
      return "r" + std::to_string(o.size);
    default:
      return ZydisRegisterGetString(o.reg.value);
  }
}

std::string memory_kind(const ZydisDecodedOperand& o) {
  std::string kind = o.mem.type == ZYDIS_MEMOP_TYPE_AGEN   ? "address"
                     : o.mem.type == ZYDIS_MEMOP_TYPE_VSIB ? "v" + std::to_string(o.size)
                     : o.mem.base == ZYDIS_REGISTER_RIP    ? "rip" + std::to_string(o.size)
                                                           : "m" + std::to_string(o.size);
  if (o.mem.segment == ZYDIS_REGISTER_FS) kind = "fs:" + kind;
  if (o.mem.segment == ZYDIS_REGISTER_GS) kind = "gs:" + kind;
  return kind;
}

std::string operand_kind(const ZydisDecodedOperand& o) {
  switch (o.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
      return register_kind(o);
    case ZYDIS_OPERAND_TYPE_MEMORY:
      return memory_kind(o);
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      return (o.imm.is_relative ? "rel" : "imm") + std::to_string(o.size);
    default:
      return "pointer";
  }
}

}  // namespace

std::string instruction_form(std::span<const std::uint8_t> bytes) {
  static const ZydisDecoder decoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  ZydisDecodedInstruction i;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &i, operands))) return "";
  std::string form;
  if (i.attributes & ZYDIS_ATTRIB_HAS_LOCK) form += "lock ";
  if (i.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE)) form += "rep ";
  if (i.attributes & ZYDIS_ATTRIB_HAS_REPNE) form += "repne ";
  form += ZydisMnemonicGetString(i.mnemonic);
  for (unsigned k = 0; k < i.operand_count_visible; ++k) {
    const bool no_mask =
        operands[k].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[k].reg.value == ZYDIS_REGISTER_K0;
    if (!no_mask) form += (k == 0 ? " " : ", ") + operand_kind(operands[k]);
  }
  if (i.address_width == 32 && (i.attributes & ZYDIS_ATTRIB_HAS_MODRM)) form += " (32-bit address)";
  return form;
}

}  // namespace elision::vm
