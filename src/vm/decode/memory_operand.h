// SPDX-License-Identifier: Apache-2.0
// The memory operand of an instruction, for decoding and encoding.
#pragma once

#include <cstdint>

namespace elision::vm {

enum class Segment : std::uint8_t { kNone, kFs, kGs };
inline constexpr int kNoRegister = -1;

/// A memory operand: segment:[base + index * scale + displacement]; 32-bit absolute without registers.
struct MemoryOperand {
  Segment segment = Segment::kNone;
  int base = kNoRegister;
  int index = kNoRegister;
  unsigned scale = 1;
  std::int64_t displacement = 0;
  bool rip_relative = false;  // displacement is then the absolute target address
  bool address_size_32 = false;

  bool uses(int reg) const { return reg == base || reg == index; }
  /// The registers in it, a bit each.
  std::uint16_t registers() const {
    return static_cast<std::uint16_t>((base >= 0 ? 1u << base : 0u) | (index >= 0 ? 1u << index : 0u));
  }
};

}  // namespace elision::vm
