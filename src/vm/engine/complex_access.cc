// SPDX-License-Identifier: Apache-2.0
// Accesses whose lines depend on register contents: gathers, masked moves, bit strings. And CLFLUSH, which
// makes none.
//
// This makes the accesses in the model; then translated code executes the instruction. A gather accesses only
// elements that its mask enables. A masked move counts as an access to its whole operand.
#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>

#include "vm/cpu/helpers.h"
#include "vm/engine/engine.h"

namespace elision::vm {
namespace {

struct Operands {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

bool decode_operands(const Exit& exit, Operands& out) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(
      ZydisDecoderDecodeFull(&decoder, exit.bytes, exit.length, &out.instruction, out.operand));
}

const ZydisDecodedOperand* memory_of(const Operands& o) {
  for (unsigned k = 0; k < o.instruction.operand_count; ++k)
    if (o.operand[k].type == ZYDIS_OPERAND_TYPE_MEMORY) return &o.operand[k];
  return nullptr;
}

std::uint64_t gpr_value(const GuestState& s, ZydisRegister reg) {
  if (reg == ZYDIS_REGISTER_NONE) return 0;
  const ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  return s.gpr[full - ZYDIS_REGISTER_RAX];
}

const std::uint8_t* vector_value(const GuestState& s, ZydisRegister reg) {
  return s.ymm[ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) - ZYDIS_REGISTER_ZMM0];
}

std::int64_t signed_element(const std::uint8_t* vector, unsigned index, unsigned bytes) {
  if (bytes == 4) {
    std::int32_t value;
    std::memcpy(&value, vector + 4 * index, 4);
    return value;
  }
  std::int64_t value;
  std::memcpy(&value, vector + 8 * index, 8);
  return value;
}

struct Range {
  std::uint64_t address;
  std::uint64_t size;
};

/// VPGATHERxy: destination, memory with a vector index, mask.
std::vector<Range> gather_ranges(const GuestState& s, const Operands& o, std::uint64_t segment_base) {
  const ZydisDecodedOperand& memory = o.operand[1];
  const char* name = ZydisMnemonicGetString(o.instruction.mnemonic);
  const std::size_t length = std::strlen(name);
  // VPGATHERDQ: index letter, data letter; VGATHERDPS: index letter, then PS or PD.
  const bool floating = name[length - 2] == 'p';
  const unsigned index = name[length - (floating ? 3 : 2)] == 'q' ? 8 : 4;
  const unsigned data = floating ? (name[length - 1] == 's' ? 4 : 8) : (name[length - 1] == 'q' ? 8 : 4);
  const unsigned index_vector_bytes =
      ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, memory.mem.index) / 8u;
  const unsigned count = std::min(o.operand[0].size / 8u / data, index_vector_bytes / index);
  const std::uint8_t* indices = vector_value(s, memory.mem.index);
  const std::uint8_t* mask = vector_value(s, o.operand[2].reg.value);
  std::vector<Range> ranges;
  for (unsigned k = 0; k < count; ++k) {
    if (signed_element(mask, k, data) >= 0) continue;
    const std::int64_t offset = signed_element(indices, k, index) * memory.mem.scale + memory.mem.disp.value;
    ranges.push_back(
        {segment_base + gpr_value(s, memory.mem.base) + static_cast<std::uint64_t>(offset), data});
  }
  return ranges;
}

/// BT, BTC, BTR and BTS with a bit offset in a register reach beyond the operand.
Range bit_range(const GuestState& s, const Operands& o, std::uint64_t address) {
  const unsigned bits = o.operand[0].size;
  auto offset = static_cast<std::int64_t>(gpr_value(s, o.operand[1].reg.value));
  if (bits == 32) offset = static_cast<std::int32_t>(offset);
  if (bits == 16) offset = static_cast<std::int16_t>(offset);
  const std::int64_t word = offset >> (bits == 64 ? 6 : bits == 32 ? 5 : 4);
  return {address + static_cast<std::uint64_t>(word * (bits / 8)), bits / 8};
}

std::uint64_t plain_address(const GuestState& s, const ZydisDecodedOperand& memory, const Exit& exit) {
  std::uint64_t address = static_cast<std::uint64_t>(memory.mem.disp.value);
  if (memory.mem.base == ZYDIS_REGISTER_RIP) {
    address += exit.pc + exit.length;
  } else {
    address += gpr_value(s, memory.mem.base);
  }
  return address + gpr_value(s, memory.mem.index) * memory.mem.scale;
}

}  // namespace

void Engine::complex_access(Cpu& cpu, Exit& exit) {
  // Counted code has no such exit; this one was waiting for its turn when fast mode began.
  if (cpu.detail == Detail::kCounted) return code_.next_instruction(cpu, exit);
  Operands o;
  const ZydisDecodedOperand* memory = decode_operands(exit, o) ? memory_of(o) : nullptr;
  if (memory == nullptr) return unsupported(cpu, exit);
  const std::uint64_t segment = memory->mem.segment == ZYDIS_REGISTER_FS ? cpu.state.fs_base : 0;
  if (o.instruction.mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
      o.instruction.mnemonic == ZYDIS_MNEMONIC_CLFLUSHOPT) {
    const std::uint64_t address = segment + plain_address(cpu.state, *memory, exit);
    context_.model->flush(line_of(GuestAddr(address)), cpu.clock());
    return code_.next_instruction(cpu, exit);
  }
  std::vector<Range> ranges;
  if (o.instruction.meta.category == ZYDIS_CATEGORY_AVX2GATHER) {
    ranges = gather_ranges(cpu.state, o, segment);
  } else if (o.instruction.meta.category == ZYDIS_CATEGORY_BITBYTE) {
    ranges = {bit_range(cpu.state, o, segment + plain_address(cpu.state, *memory, exit))};
  } else {
    ranges = {{segment + plain_address(cpu.state, *memory, exit), memory->size / 8u}};
  }
  const bool writes = memory->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
  const bool locked = (o.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
  const auto kind = locked   ? machine::AccessKind::kAtomic
                    : writes ? machine::AccessKind::kStore
                             : machine::AccessKind::kLoad;
  cpu.access_check = nullptr;
  cpu.state.rip = exit.pc;
  for (const Range& range : ranges) {
    Cycles ready{0};
    const AccessStep step = access_range(cpu, range.address, range.size, kind, Cycles(0), ready);
    if (step == AccessStep::kRolledBack) return;
    if (step != AccessStep::kDone)
      return code_.repeat_in_order(cpu, exit);  // repeats all accesses when this CPU is the earliest
  }
  cpu.access_made = true;
  code_.next_instruction(cpu, exit);
}

}  // namespace elision::vm
