// SPDX-License-Identifier: Apache-2.0
// Reads guest code a basic block at a time, and finds which registers and flags are live.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vm/decode/instruction.h"
#include "vm/decode/instruction_form.h"

namespace elision::vm {

/// A decoded block with liveness: live_gpr[i] and live_flags[i] hold before instruction i. Empty if its first
/// instruction cannot be fetched whole.
struct DecodedBlock {
  std::vector<Instruction> instructions;
  std::vector<std::uint16_t> live_gpr;
  std::vector<std::uint32_t> live_flags;
};

class GuestCode {
 public:
  static constexpr std::size_t kMaxInstructions = 64;

  /// `executable_end(pc)`: end of the mapping around pc if the guest may execute there, else 0.
  /// `writable(pc)`: the guest may write there; then the code there never makes a flag dead.
  GuestCode(std::function<std::uint64_t(std::uint64_t)> executable_end,
            std::function<bool(std::uint64_t)> writable)
      : executable_end_(std::move(executable_end)), writable_(std::move(writable)) {}

  /// From now on blocks end in front of these addresses, which the caller keeps and may change.
  void stop_at(const std::vector<std::uint64_t>& addresses) { stops_ = &addresses; }
  /// From now on records the forms of the instructions that block() decodes.
  void record_forms() { forms_ = std::make_unique<FormsMet>(); }
  const FormsMet* forms() const { return forms_.get(); }

  /// Decodes from `pc` to the first branch, at most `most` instructions, or to one that cannot be fetched
  /// whole.
  DecodedBlock block(std::uint64_t pc, std::size_t most = kMaxInstructions);
  /// Address of the first byte of the instruction at `pc` that cannot be fetched; nothing if it can be
  /// fetched whole.
  std::optional<std::uint64_t> missing_byte(std::uint64_t pc);

  /// Arithmetic flags that the code at `pc` may read before it writes them. Flags count as dead at calls and
  /// returns, as for compilers, unless assume_flags_live().
  std::uint32_t flags_live_at(std::uint64_t pc);
  /// True if flags are live across the jump, call or return `i`. Compilers keep flags live across jump
  /// tables. A jump through a variable of its own is one of a linkage table, or a tail call.
  bool passes_flags(const Instruction& i) const {
    return flags_live_everywhere_ || (i.kind == InstructionClass::kIndirectJump &&
                                      !(i.accesses > 0 && i.access[0].operand.rip_relative));
  }
  /// From now on flags are live at calls and returns too: some programs pass them there.
  void assume_flags_live() {
    flags_live_everywhere_ = true;
    forget();
  }
  bool flags_live_everywhere() const { return flags_live_everywhere_; }
  /// True if the code at `pc` certainly reads a flag before it writes it.
  bool reads_incoming_flags(std::uint64_t pc);
  /// Pages on which answers about flags since the last call rest. If code there is rewritten, the answers may
  /// change.
  std::vector<std::uint64_t> take_pages_read() { return std::exchange(pages_read_, {}); }
  /// Drops what is known of code that may have changed.
  void forget() {
    peeked_.clear();
    entries_.clear();
    mapped_begin_ = mapped_end_ = 0;
  }

 private:
  struct Peek {
    std::uint32_t live = 0;              // may be read
    std::uint32_t read = 0;              // certainly read
    std::vector<std::uint64_t> pages{};  // on which this rests
  };
  std::span<const std::uint8_t> bytes_at(std::uint64_t pc);
  const Peek& peek(std::uint64_t pc);
  const Peek& peek_at_entry(std::uint64_t pc);
  const Peek& remembered(std::unordered_map<std::uint64_t, Peek>& known, std::uint64_t pc,
                         bool through_calls);
  Peek look_ahead(std::uint64_t pc, bool through_calls);
  bool flags_read_across_call(const Instruction& i);
  std::uint32_t flags_live_after(const Instruction& last);
  void analyse_liveness(DecodedBlock& block);

  std::function<std::uint64_t(std::uint64_t)> executable_end_;
  std::function<bool(std::uint64_t)> writable_;
  std::unordered_map<std::uint64_t, Peek> peeked_;
  std::unordered_map<std::uint64_t, Peek> entries_;  // of functions
  std::vector<std::uint64_t> pages_read_;
  std::unique_ptr<FormsMet> forms_;  // null: not wanted
  const std::vector<std::uint64_t>* stops_ = nullptr;
  bool flags_live_everywhere_ = false;
  std::uint64_t mapped_begin_ = 0;  // executable and contiguous
  std::uint64_t mapped_end_ = 0;
  std::uint8_t bytes_[15];  // last ones of bytes_at()
};

}  // namespace elision::vm
