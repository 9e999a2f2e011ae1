// SPDX-License-Identifier: Apache-2.0
// Writes the few x86-64 instructions of access checks and block exits.
//
// There are no labels and no relocations: code is written at its final address. Encodings: Intel SDM
// volume 2.
#pragma once

#include <cstdint>
#include <cstring>

#include "vm/decode/memory_operand.h"
#include "vm/interface/guest_state.h"

namespace elision::vm {

/// A field of the Cpu.
inline MemoryOperand cpu_field(int offset) {
  return MemoryOperand{.segment = Segment::kGs, .displacement = offset};
}
inline MemoryOperand cpu_field_indexed(int base, int offset) {
  return MemoryOperand{.segment = Segment::kGs, .base = base, .displacement = offset};
}

/// Condition codes of Jcc.
enum Condition : std::uint8_t { kBelow = 2, kEqual = 4, kNotEqual = 5, kSign = 8 };

class Emitter {
 public:
  explicit Emitter(std::uint8_t* start) : cursor_(start) {}

  std::uint8_t* here() const { return cursor_; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(cursor_); }

  void byte(unsigned value) { *cursor_++ = static_cast<std::uint8_t>(value); }
  void word32(std::uint32_t value) { put(&value, 4); }
  void word64(std::uint64_t value) { put(&value, 8); }
  void raw(const void* bytes, std::size_t count) { put(bytes, count); }

  // mov
  void load(int reg, const MemoryOperand& m) { rm(true, {0x8b}, reg, m); }
  void load_byte(int reg, const MemoryOperand& m) { rm(false, {0x0f, 0xb6}, reg, m); }  // zero-extended
  void load16(int reg, const MemoryOperand& m) { rm(false, {0x0f, 0xb7}, reg, m); }     // zero-extended
  void load32(int reg, const MemoryOperand& m) { rm(false, {0x8b}, reg, m); }
  void store(const MemoryOperand& m, int reg) { rm(true, {0x89}, reg, m); }
  /// AL, CL, DL or BL.
  void store8(const MemoryOperand& m, int reg) { rm(false, {0x88}, reg, m); }
  void store_imm8(const MemoryOperand& m, unsigned value) { rm(false, {0xc6}, 0, m, 1), byte(value); }
  void store_imm32(const MemoryOperand& m, std::uint32_t value) { rm(false, {0xc7}, 0, m, 4), word32(value); }
  /// 64-bit store of a sign-extended 32-bit value.
  void store_imm64(const MemoryOperand& m, std::int32_t value) {
    rm(true, {0xc7}, 0, m, 4), word32(static_cast<std::uint32_t>(value));
  }
  void move(int to, int from) { rr(true, 0x8b, to, from); }
  void move32(int to, int from) { rr(false, 0x8b, to, from); }
  void move_imm(int reg, std::uint64_t value) {
    if (value <= 0xffffffffu) {
      rex(false, 0, 0, reg), byte(0xb8 + (reg & 7)), word32(static_cast<std::uint32_t>(value));
    } else {
      rex(true, 0, 0, reg), byte(0xb8 + (reg & 7)), word64(value);
    }
  }
  void lea(int reg, const MemoryOperand& m) { rm(true, {0x8d}, reg, m); }
  void lea(int reg, int base, std::int32_t displacement) {
    lea(reg, MemoryOperand{.base = base, .displacement = displacement});
  }

  // arithmetic; all change the flags
  void add(int reg, const MemoryOperand& m) { rm(true, {0x03}, reg, m); }
  void sub(int reg, const MemoryOperand& m) { rm(true, {0x2b}, reg, m); }
  void xor_(int reg, const MemoryOperand& m) { rm(true, {0x33}, reg, m); }
  void cmp(int reg, const MemoryOperand& m) { rm(true, {0x3b}, reg, m); }
  void and_imm8(int reg, int value) {
    rex(true, 0, 0, reg), byte(0x83), byte(0xe0 + (reg & 7)), byte(static_cast<unsigned>(value));
  }
  void and32_imm32(int reg, std::uint32_t value) {
    rex(false, 0, 0, reg), byte(0x81), byte(0xe0 + (reg & 7)), word32(value);
  }
  void shift_right32(int reg, unsigned count) {
    rex(false, 0, 0, reg), byte(0xc1), byte(0xe8 + (reg & 7)), byte(count);
  }
  void shift_left32(int reg, unsigned count) {
    rex(false, 0, 0, reg), byte(0xc1), byte(0xe0 + (reg & 7)), byte(count);
  }
  void sub32_imm32(const MemoryOperand& m, std::uint32_t value) { rm(false, {0x81}, 5, m, 4), word32(value); }
  void add64_imm32(const MemoryOperand& m, std::int32_t value) {
    rm(true, {0x81}, 0, m, 4), word32(static_cast<std::uint32_t>(value));
  }
  void cmp32_imm32(const MemoryOperand& m, std::uint32_t value) { rm(false, {0x81}, 7, m, 4), word32(value); }
  void cmp32(int reg, const MemoryOperand& m) { rm(false, {0x3b}, reg, m); }
  void store32(const MemoryOperand& m, int reg) { rm(false, {0x89}, reg, m); }
  void xor32_to(const MemoryOperand& m, int reg) { rm(false, {0x31}, reg, m); }
  void cmp8_imm(const MemoryOperand& m, unsigned value) { rm(false, {0x80}, 7, m, 1), byte(value); }
  void xor32_self(int reg) { rr(false, 0x33, reg, reg); }
  void crc32(int reg, int from) {
    byte(0xf2), rex(true, reg, 0, from), byte(0x0f), byte(0x38), byte(0xf1), modrm_register(reg, from);
  }
  void zero_extend16(int reg, int from) {
    rex(false, reg, 0, from), byte(0x0f), byte(0xb7), modrm_register(reg, from);
  }

  // Flags in RAX: AH = SF ZF AF PF CF, AL = OF.
  void save_flags_to_rax() { byte(0x9f), byte(0x0f), byte(0x90), byte(0xc0); }  // lahf; seto al
  void restore_flags_from_rax() { byte(0x04), byte(0x7f), byte(0x9e); }         // add al,127; sahf

  // control
  /// Jumps return the address of their 32-bit displacement.
  std::uint8_t* jump() { return byte(0xe9), displacement(); }
  std::uint8_t* jump_if(unsigned condition) { return byte(0x0f), byte(0x80 + condition), displacement(); }
  void jump_through(const MemoryOperand& m) { rm(false, {0xff}, 4, m); }
  void call_through(const MemoryOperand& m) { rm(false, {0xff}, 2, m); }
  /// If RCX is zero, skips the jump() that follows.
  void skip_jump_if_rcx_zero() { byte(0xe3), byte(5); }
  /// A short forward jump; land_short() sets its target.
  std::uint8_t* jump_if_short(unsigned condition) { return byte(0x70 + condition), byte(0), cursor_ - 1; }
  void land_short(std::uint8_t* at) { *at = static_cast<std::uint8_t>(cursor_ - at - 1); }

  static void patch(std::uint8_t* displacement_at, std::uint64_t target) {
    const auto distance =
        static_cast<std::int32_t>(target - (reinterpret_cast<std::uint64_t>(displacement_at) + 4));
    std::memcpy(displacement_at, &distance, 4);
  }
  void land(std::uint8_t* displacement_at) { patch(displacement_at, address()); }

  /// Writes [prefixes] [REX] opcode ModRM [SIB] [displacement]. `immediate_bytes` will follow: a RIP-relative
  /// displacement counts from the end of the instruction.
  struct Opcode {
    std::uint8_t byte0;
    std::uint8_t byte1 = 0;  // if byte0 is 0F
  };
  void rm(bool wide, Opcode opcode, int reg, const MemoryOperand& m, int immediate_bytes = 0) {
    if (m.segment == Segment::kGs) byte(0x65);
    if (m.segment == Segment::kFs) byte(0x64);
    if (m.address_size_32) byte(0x67);
    rex(wide, reg, m.index, m.base);
    byte(opcode.byte0);
    if (opcode.byte0 == 0x0f) byte(opcode.byte1);
    address_bytes(reg, m, immediate_bytes);
  }

 private:
  void put(const void* bytes, std::size_t count) {
    std::memcpy(cursor_, bytes, count);
    cursor_ += count;
  }
  std::uint8_t* displacement() { return word32(0), cursor_ - 4; }
  static bool high(int reg) { return reg >= 8; }
  void rex(bool wide, int reg, int index, int base) {
    const unsigned bits =
        (wide ? 8u : 0u) | (high(reg) ? 4u : 0u) | (high(index) ? 2u : 0u) | (high(base) ? 1u : 0u);
    if (bits != 0) byte(0x40 | bits);
  }
  void modrm_register(int reg, int from) {
    byte(0xc0u | static_cast<unsigned>((reg & 7) << 3) | static_cast<unsigned>(from & 7));
  }
  void rr(bool wide, unsigned opcode, int reg, int from) {
    rex(wide, reg, 0, from), byte(opcode), modrm_register(reg, from);
  }
  void address_bytes(int reg, const MemoryOperand& m, int immediate_bytes) {
    const unsigned r = static_cast<unsigned>(reg & 7) << 3;
    if (m.rip_relative) {
      byte(0x05 | r);
      word32(static_cast<std::uint32_t>(static_cast<std::uint64_t>(m.displacement) -
                                        (address() + 4 + static_cast<std::uint64_t>(immediate_bytes))));
      return;
    }
    const auto displacement32 = static_cast<std::uint32_t>(m.displacement);
    if (m.base == kNoRegister) {  // SIB without base: 32-bit displacement
      byte(0x04 | r), byte(scale_bits(m.scale) | index_bits(m.index) | 5), word32(displacement32);
      return;
    }
    const bool sib = m.index != kNoRegister || (m.base & 7) == kRsp;
    const bool none = m.displacement == 0 && (m.base & 7) != kRbp;
    const bool small = m.displacement >= -128 && m.displacement <= 127;
    const unsigned mode = none ? 0x00 : small ? 0x40 : 0x80;
    byte(mode | r | (sib ? 4u : static_cast<unsigned>(m.base & 7)));
    if (sib) byte(scale_bits(m.scale) | index_bits(m.index) | static_cast<unsigned>(m.base & 7));
    if (!none && small) byte(displacement32 & 0xff);
    if (!none && !small) word32(displacement32);
  }
  static unsigned scale_bits(unsigned scale) {
    return scale == 8 ? 0xc0 : scale == 4 ? 0x80 : scale == 2 ? 0x40 : 0;
  }
  static unsigned index_bits(int index) {
    return index == kNoRegister ? 0x20u : static_cast<unsigned>(index & 7) << 3;
  }

  std::uint8_t* cursor_;
};

}  // namespace elision::vm
