// SPDX-License-Identifier: Apache-2.0
#include "vm/disassembly.h"

#include <Zydis/Zydis.h>

#include <cstdio>

#include "vm/kernel/guest_memory.h"

namespace elision::vm {
namespace {

constexpr std::size_t kLongest = ZYDIS_MAX_INSTRUCTION_LENGTH;
constexpr std::size_t kShownOfUnknown = 8;

struct Decoded {
  std::uint8_t bytes[kLongest];
  std::size_t readable = 0;
  bool known = false;
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

Decoded decode_at(std::uint64_t pc) {
  Decoded d;
  while (d.readable < kLongest &&
         copy_guest_bytes(d.bytes + d.readable, reinterpret_cast<const void*>(pc + d.readable), 1))
    ++d.readable;
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  d.known = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, d.bytes, d.readable, &d.instruction, d.operand));
  return d;
}

std::string operand_kind(const ZydisDecodedOperand& operand) {
  switch (operand.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
      switch (ZydisRegisterGetClass(operand.reg.value)) {
        case ZYDIS_REGCLASS_GPR8:
        case ZYDIS_REGCLASS_GPR16:
        case ZYDIS_REGCLASS_GPR32:
        case ZYDIS_REGCLASS_GPR64:
          return "r" + std::to_string(operand.size);
        case ZYDIS_REGCLASS_XMM:
          return "xmm";
        case ZYDIS_REGCLASS_YMM:
          return "ymm";
        case ZYDIS_REGCLASS_ZMM:
          return "zmm";
        case ZYDIS_REGCLASS_MASK:
          return "k";
        default:
          return ZydisRegisterGetString(operand.reg.value);
      }
    case ZYDIS_OPERAND_TYPE_MEMORY:
      return "m" + std::to_string(operand.size);
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      return "imm";
    default:
      return "ptr";
  }
}

}  // namespace

std::string disassemble(std::uint64_t pc) {
  const Decoded d = decode_at(pc);
  if (!d.known) return {};
  ZydisFormatter formatter;
  ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
  char text[256];
  const bool good = ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &d.instruction, d.operand,
                                                                 d.instruction.operand_count_visible, text,
                                                                 sizeof text, pc, nullptr));
  return good ? text : "";
}

std::string instruction_kind(std::uint64_t pc) {
  const Decoded d = decode_at(pc);
  if (!d.known) return "unknown";
  std::string kind = ZydisMnemonicGetString(d.instruction.mnemonic);
  for (unsigned i = 0; i < d.instruction.operand_count_visible; ++i) {
    const bool no_mask =
        d.operand[i].type == ZYDIS_OPERAND_TYPE_REGISTER && d.operand[i].reg.value == ZYDIS_REGISTER_K0;
    if (!no_mask) kind += (i == 0 ? " " : ", ") + operand_kind(d.operand[i]);
  }
  return kind;
}

std::string instruction_bytes(std::uint64_t pc) {
  const Decoded d = decode_at(pc);
  const std::size_t shown = d.known ? d.instruction.length : std::min(d.readable, kShownOfUnknown);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%s%02x", i == 0 ? "" : " ", d.bytes[i]);
    text += byte;
  }
  return text;
}

}  // namespace elision::vm
