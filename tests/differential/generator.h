// SPDX-License-Identifier: Apache-2.0
// Random sequences of instructions that end: straight code, branches forward, calls, indirect jumps.
//
// An instruction is random bytes, except for the registers of its memory operand. It is kept if the decoder
// knows it and acceptable() finds that it stays within the sequence's own memory. R12 is a small number, R13
// to R15 point to data, RSP to a stack; only PUSH, POP, CALL and RET change them. R15 points so close to the
// end of its memory that some accesses fault.
//
// No instruction reads a flag that may be undefined (undefined_flags.h): a CMP before it defines all flags.
// The final flags of a sequence are saved, and the caller masks undefined ones.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace differential {

/// The addresses of the generated code and its data. They are the same natively and virtually, so registers
/// may hold addresses.
struct Layout {
  std::uint64_t code;
  std::uint64_t
      data;  // three areas: R13 and R14 point into the middle of theirs, R15 almost to the end of the last
  std::uint64_t stack;  // RSP points into its middle
  std::int64_t thread;  // from FS to a thread's own area
  std::uint64_t
      near;  // what operands relative to RIP reach: in the data, or an area of its own near high code
  static constexpr std::uint64_t kCodeBytes = 16384, kAreaBytes = 8192, kDataBytes = 3 * kAreaBytes,
                                 kStackBytes = 8192, kThreadBytes = 512, kNearBytes = 4096;
  std::uint64_t middle(unsigned area) const { return data + area * kAreaBytes + kAreaBytes / 2; }
  std::uint64_t near_end() const { return data + kDataBytes - 256; }
  bool code_is_low() const { return code < 0x80000000u; }
};

/// xorshift64*: the same sequences everywhere.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {
    next(), next();
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(next() >> 33) % n; }
  bool percent(unsigned chance) { return below(100) < chance; }

 private:
  std::uint64_t state_;
};

/// For tests of the comparison itself: code after instructions that set flags or leave them undefined. All
/// kinds but kNo make sequences of the same length, so that their runs can be compared.
enum class Flip {
  kNo,         // no such code
  kNothing,    // code without effect
  kUndefined,  // changes some of the undefined flags, as another maker's CPU might
  kDefined,    // also changes a defined flag
};
struct Flips {
  Flip what = Flip::kNo;
  std::uint32_t flags = ~0u;  // kDefined: the flags to change
};

/// A form of instructions in real programs, with one example (instruction_form.h).
struct Example {
  std::string form;
  std::vector<std::uint8_t> bytes;
};

class Generator {
 public:
  /// Half of the instructions have the forms of `examples`, if there are any.
  Generator(const Layout& layout, std::uint64_t seed, const std::vector<Example>& examples, Flips flips = {});

  /// One sequence; it begins at layout.code and leaves by a jump to `end`.
  const std::vector<std::uint8_t>& generate(std::uint64_t end);
  /// The arithmetic flags that may be undefined among those saved at its end.
  std::uint32_t undefined_at_end() const { return undefined_at_end_; }
  /// Where it saves them, from R13.
  static constexpr std::uint64_t kSavedFlags = 3900;
  /// The sequence as text, one instruction per line.
  std::string listing() const;
  /// Adds the forms of its instructions.
  void add_forms(std::set<std::string>& forms) const;

 private:
  void random_instruction();
  bool try_random();
  void like_an_example();
  bool try_like(const Example& example);
  enum class Operand { kAny, kRegister, kMemory, kRipRelative, kThread };
  void operand_bytes(std::vector<std::uint8_t>& bytes, Operand operand);
  bool add_if_acceptable(std::vector<std::uint8_t>& bytes, const std::string& form);
  std::optional<unsigned> count_in_cl(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands);
  void follow_flags();
  void require_flags(std::uint32_t read);
  void require_flags_of(std::initializer_list<unsigned> instruction);
  void flip_flags();
  bool in_thread_area(const ZydisDecodedOperand& o) const;
  bool acceptable(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands);
  void special();
  void string_instruction();
  void bit_test_in_memory();
  void gather();
  void stack_instruction();
  void flags_instruction();
  void straight(unsigned instructions);
  void branch_over();
  void branch_over_few(unsigned opcode);
  void loop();
  void call();
  void indirect();
  bool through_memory(unsigned opcode_extension, unsigned from);
  void traps(unsigned count);
  void jump_over_traps();
  void bytes(std::initializer_list<unsigned> some);
  void word32(std::uint64_t value);
  void jump_to(std::uint64_t target);
  std::uint64_t here() const { return layout_.code + code_.size(); }

  Layout layout_;
  Flips flips_;
  Draw draw_;
  const std::vector<Example>& examples_;
  ZydisDecoder decoder_;
  std::vector<std::uint8_t> code_;
  unsigned depth_ = 0;           // of calls and loops
  bool keep_stack_ = false;      // RSP must return to its current value
  std::size_t followed_ = 0;     // the part of code_ that undefined_ covers
  std::uint32_t undefined_ = 0;  // arithmetic flags that may be undefined after it
  std::uint32_t undefined_at_end_ = 0;
};

}  // namespace differential
