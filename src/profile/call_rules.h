// SPDX-License-Identifier: Apache-2.0
// The unwinding rules of code, kept in a form by which a step to the caller takes some ten loads.
//
// elfutils' libdw decodes the rules (.eh_frame, .debug_frame). Nearly all of them say that the canonical
// frame address (CFA) lies at a distance from a register, and that registers were saved at distances from the
// CFA. Those are kept by address, not by range: libdw's ranges are wrong after DW_CFA_restore_state. Others,
// with expressions (PLT entries, signal frames), are for libdwfl to follow.
//
// A function preserves RBX if its rules do not name it (System V ABI, AMD64 supplement, figure 3.4). The
// default rules of libdw 0.188 name RAX where they mean RBX.
//
// Source: DWARF 5, section 6.4.1, Structure of Call Frame Information.
#pragma once

#include <elfutils/libdwfl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace elision::profile {

/// The integer registers and the PC, in the order of DWARF's numbers (System V ABI, AMD64 supplement, figure
/// 3.36).
using DwarfRegisters = std::array<std::uint64_t, 17>;
inline constexpr std::size_t kDwarfRax = 0, kDwarfRbx = 3, kDwarfFramePointer = 6, kDwarfStackPointer = 7,
                             kDwarfPc = 16;

/// How to get from a frame's registers to its caller's.
struct CallRule {
  static constexpr std::int32_t kSame = INT32_MIN;           // the frame leaves the register as it is
  static constexpr std::int32_t kUndefined = INT32_MIN + 1;  // the register is lost
  std::uint8_t cfa_register = 0;
  std::int32_t cfa_offset = 0;
  /// Where the caller's registers are, in bytes from the CFA, or one of the above. The stack pointer's is not
  /// used: it is the CFA.
  std::array<std::int32_t, std::tuple_size_v<DwarfRegisters>> saved{};
};

class CallRules {
 public:
  enum class Kind {
    kNone,     // there are no rules
    kComplex,  // for libdwfl
    kSimple
  };
  struct Found {
    Kind kind = Kind::kNone;
    bool is_signal_frame = false;  // it returns to code that was interrupted
    CallRule rule;                 // of kSimple
  };

  /// `dwfl` must outlive it.
  explicit CallRules(Dwfl* dwfl) : dwfl_(dwfl) {}
  /// The rule for the code at `pc`. The reference holds until the next call.
  const Found& at(std::uint64_t pc);

 private:
  Dwfl* dwfl_;
  std::unordered_map<std::uint64_t, Found> found_;  // by the code's address
};

/// Registers that are steps away from those of a sample. A register may be lost on the way.
struct CallerRegisters {
  DwarfRegisters value{};
  std::uint32_t known = (1u << std::tuple_size_v<DwarfRegisters>)-1;  // a bit a register

  /// Steps to the caller, whose PC is the return address. False, and nothing changed, if the CFA or the
  /// return address is not known. `peek`: the word at an address of the stack, an optional.
  template <class Peek>
  bool step(const CallRule& rule, const Peek& peek) {
    if (!is_known(rule.cfa_register) || rule.saved[kDwarfPc] == CallRule::kSame) return false;
    const std::uint64_t cfa = moved(value[rule.cfa_register], rule.cfa_offset);
    CallerRegisters caller = *this;
    for (std::size_t i = 0; i < caller.value.size(); ++i) {
      const std::int32_t saved = rule.saved[i];
      if (saved == CallRule::kSame) continue;
      const auto word = saved != CallRule::kUndefined ? peek(moved(cfa, saved)) : std::nullopt;
      if (word)
        caller.value[i] = *word;
      else if (saved == CallRule::kUndefined || !is_below_stack(moved(cfa, saved)))
        caller.known &= ~(1u << i);
    }
    if (!caller.is_known(kDwarfPc)) return false;
    caller.value[kDwarfStackPointer] = cfa;
    caller.known |= 1u << kDwarfStackPointer;
    *this = caller;
    return true;
  }

  bool is_known(std::size_t number) const { return (known >> number & 1) != 0; }

 private:
  static std::uint64_t moved(std::uint64_t address, std::int32_t bytes) {
    return address + static_cast<std::uint64_t>(std::int64_t{bytes});
  }
  /// A copy of the stack lacks what lies there. An epilogue has restored registers from there already.
  bool is_below_stack(std::uint64_t address) const {
    return is_known(kDwarfStackPointer) && address < value[kDwarfStackPointer];
  }
};

}  // namespace elision::profile
