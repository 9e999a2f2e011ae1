// SPDX-License-Identifier: Apache-2.0
#include "vm/decode/disassembly.h"

#include <Zydis/Zydis.h>

#include <cstdio>

#include "vm/decode/instruction_form.h"
#include "vm/host/guest_memory.h"

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
  return instruction_form({d.bytes, d.readable});
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
