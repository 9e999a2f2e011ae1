// SPDX-License-Identifier: Apache-2.0
// The table of undefined flags: rows from the manuals, and the decoder's own table as a second opinion.
#include "undefined_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "generator.h"

namespace differential {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

Decoded decode(const std::uint8_t* code, std::size_t bytes) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  Decoded d{};
  EXPECT_TRUE(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, &d.instruction, d.operands)));
  return d;
}

FlagEffects effects_of(const Bytes& code, std::optional<unsigned> cl = std::nullopt) {
  const Decoded d = decode(code.data(), code.size());
  return effects_on_flags(d.instruction, d.operands, cl);
}

constexpr std::uint32_t kArithmetic = kCarry | kParity | kZero | kSign | kOverflow;  // without AF

TEST(UndefinedFlags, AreThoseOfTheManuals) {
  struct Row {
    const char* what;
    Bytes code;
    std::uint32_t undefined, set;
  };
  const Row rows[] = {
      {"add eax, ecx", {0x01, 0xc8}, 0, kAllFlags},
      {"sbb eax, ecx", {0x19, 0xc8}, 0, kAllFlags},
      {"inc eax", {0xff, 0xc0}, 0, kAllFlags & ~kCarry},
      {"and eax, ecx", {0x21, 0xc8}, kAdjust, kArithmetic},
      {"test eax, eax", {0x85, 0xc0}, kAdjust, kArithmetic},
      {"imul eax, ecx", {0x0f, 0xaf, 0xc1}, kAdjust | kParity | kSign | kZero, kCarry | kOverflow},
      {"mul ecx", {0xf7, 0xe1}, kAdjust | kParity | kSign | kZero, kCarry | kOverflow},
      {"div ecx", {0xf7, 0xf1}, kAllFlags, 0},
      {"bsf eax, ecx", {0x0f, 0xbc, 0xc1}, kAllFlags & ~kZero, kZero},
      {"tzcnt eax, ecx", {0xf3, 0x0f, 0xbc, 0xc1}, kAdjust | kParity | kSign | kOverflow, kCarry | kZero},
      {"popcnt eax, ecx", {0xf3, 0x0f, 0xb8, 0xc1}, 0, kAllFlags},
      {"bt eax, ecx, which leaves ZF", {0x0f, 0xa3, 0xc8}, kAdjust | kParity | kSign | kOverflow, kCarry},
      {"andn eax, eax, ecx", {0xc4, 0xe2, 0x78, 0xf2, 0xc1}, kAdjust | kParity, kArithmetic & ~kParity},
      {"bextr eax, ecx, eax",
       {0xc4, 0xe2, 0x78, 0xf7, 0xc1},
       kAdjust | kParity | kSign,
       kCarry | kZero | kOverflow},
      {"shl eax, 1", {0xd1, 0xe0}, kAdjust, kArithmetic},
      {"shl eax, 0", {0xc1, 0xe0, 0}, 0, 0},
      {"shl eax, 32, which is 0", {0xc1, 0xe0, 32}, 0, 0},
      {"shl rax, 32", {0x48, 0xc1, 0xe0, 32}, kAdjust | kOverflow, kArithmetic & ~kOverflow},
      {"shl eax, 5", {0xc1, 0xe0, 5}, kAdjust | kOverflow, kArithmetic & ~kOverflow},
      {"shl ax, 16", {0x66, 0xc1, 0xe0, 16}, kAdjust | kOverflow | kCarry, kParity | kSign | kZero},
      {"shl al, 8", {0xc0, 0xe0, 8}, kAdjust | kOverflow | kCarry, kParity | kSign | kZero},
      {"sar al, 8", {0xc0, 0xf8, 8}, kAdjust | kOverflow, kArithmetic & ~kOverflow},
      {"rol eax, 1", {0xd1, 0xc0}, 0, kCarry | kOverflow},
      {"rol eax, 3", {0xc1, 0xc0, 3}, kOverflow, kCarry},
      {"rcl eax, 3", {0xc1, 0xd0, 3}, kOverflow, 0},
      {"shld eax, ecx, 1", {0x0f, 0xa4, 0xc8, 1}, kAdjust, kArithmetic},
      {"shld eax, ecx, 7", {0x0f, 0xa4, 0xc8, 7}, kAdjust | kOverflow, kArithmetic & ~kOverflow},
      {"shld ax, cx, 17", {0x66, 0x0f, 0xa4, 0xc8, 17}, kAllFlags, 0},
      {"mov eax, ecx", {0x89, 0xc8}, 0, 0},
      {"repe cmpsb, perhaps not once", {0xf3, 0xa6}, 0, 0},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    EXPECT_EQ(effects_of(row.code).undefines, row.undefined);
    EXPECT_EQ(effects_of(row.code).sets, row.set);
  }
}

TEST(UndefinedFlags, ShiftByClDependsOnCount) {
  const Bytes shl_eax_cl = {0xd3, 0xe0}, shl_ax_cl = {0x66, 0xd3, 0xe0},
              shrd_ax_cx_cl = {0x66, 0x0f, 0xad, 0xc8};
  EXPECT_EQ(effects_of(shl_eax_cl).undefines, kAdjust | kOverflow);
  EXPECT_EQ(effects_of(shl_eax_cl).sets, 0u) << "by 0 bits it sets none";
  EXPECT_EQ(effects_of(shl_ax_cl).undefines, kAdjust | kOverflow | kCarry);
  EXPECT_EQ(effects_of(shl_eax_cl, 0).undefines, 0u);
  EXPECT_EQ(effects_of(shl_eax_cl, 64).undefines, 0u);
  EXPECT_EQ(effects_of(shl_eax_cl, 1).sets, kArithmetic);
  EXPECT_FALSE(effects_of(shrd_ax_cx_cl).result_defined);
  EXPECT_TRUE(effects_of(shrd_ax_cx_cl, 16).result_defined);
  EXPECT_FALSE(effects_of(shrd_ax_cx_cl, 17).result_defined);
}

TEST(UndefinedFlags, UndefinedFlagStaysUndefinedUntilSet) {
  const FlagEffects imul = effects_of({0x0f, 0xaf, 0xc1}), inc = effects_of({0xff, 0xc0}),
                    mov = effects_of({0x89, 0xc8});
  const std::uint32_t behind = undefined_behind(0, imul);
  EXPECT_EQ(undefined_behind(behind, mov), behind);
  EXPECT_EQ(undefined_behind(behind | kCarry, inc), kCarry);
}

/// The flags that Zydis calls undefined, if they do not depend on a count.
TEST(UndefinedFlags, AgreeWithTheDecoderInAllSequences) {
  const Layout layout{0x0c000000u, 0x08001000u, 0x0a001000u, -1024, 0x08001400u};
  const std::vector<Example> none;
  unsigned looked_at = 0;
  for (std::uint64_t n = 0; n < 300; ++n) {
    Generator generator(layout, n, none);
    const Bytes& code = generator.generate(0x1000);
    constexpr std::size_t kAddressAtTheEnd = 8;
    for (std::size_t at = 0; at + kAddressAtTheEnd < code.size();) {
      const Decoded d = decode(&code[at], code.size() - at);
      at += d.instruction.length;
      const ZydisAccessedFlags* flags = d.instruction.cpu_flags;
      const std::string name = ZydisMnemonicGetString(d.instruction.mnemonic);
      const bool counted = name.starts_with("sh") || name.starts_with("sar") || name.starts_with("ro") ||
                           name.starts_with("rc");
      if (flags == nullptr || counted || name == "sbb" || name == "bextr") continue;
      EXPECT_EQ(effects_on_flags(d.instruction, d.operands).undefines, flags->undefined & kAllFlags) << name;
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 2000u);
}

}  // namespace
}  // namespace differential
