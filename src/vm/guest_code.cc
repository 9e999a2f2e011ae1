// SPDX-License-Identifier: Apache-2.0
#include "vm/guest_code.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace elision::vm {
namespace {

constexpr std::uint16_t kAllGprs = 0xffff;
constexpr std::size_t kPeekInstructions = 12;
constexpr std::uint64_t kPageBytes = 4096;

/// Guest bytes at an address that may not be mapped: read page by page through the host kernel,
/// which reports instead of faulting.
class CodeReader {
 public:
  std::span<const std::uint8_t> at(std::uint64_t pc) {
    if (pc < begin_ || pc + 15 > end_) fill(pc);
    if (pc < begin_ || pc >= end_) return {};
    return {buffer_ + (pc - begin_), static_cast<std::size_t>(std::min<std::uint64_t>(end_ - pc, 15))};
  }

 private:
  void fill(std::uint64_t pc) {
    begin_ = end_ = pc;
    const std::uint64_t page_end = (pc & ~(kPageBytes - 1)) + kPageBytes;
    if (!append(std::min<std::uint64_t>(page_end - pc, sizeof buffer_))) return;
    if (end_ - begin_ < sizeof buffer_) append(sizeof buffer_ - (end_ - begin_));
  }
  bool append(std::size_t count) {
    iovec local{buffer_ + (end_ - begin_), count};
    iovec remote{reinterpret_cast<void*>(end_), count};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got <= 0) return false;
    end_ += static_cast<std::uint64_t>(got);
    return true;
  }

  std::uint8_t buffer_[256];
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

bool leaves_function(const Instruction& i) {
  switch (i.kind) {
    case InstructionClass::kCall:
    case InstructionClass::kReturn:
    case InstructionClass::kIndirectJump:
    case InstructionClass::kIndirectCall:
      return true;
    default:
      return false;
  }
}

}  // namespace

DecodedBlock GuestCode::block(std::uint64_t pc) {
  DecodedBlock out;
  CodeReader reader;
  std::uint64_t executable_end = executable_end_(pc);
  while (out.instructions.size() < kMaxInstructions) {
    if (pc >= executable_end && executable_end != 0) executable_end = executable_end_(pc);
    const auto bytes = reader.at(pc);
    if (bytes.empty() || executable_end == 0) {
      out.unreadable = out.instructions.empty();
      break;
    }
    out.instructions.push_back(decode(pc, bytes));
    const Instruction& last = out.instructions.back();
    if (last.ends_block()) break;
    pc = last.next();
  }
  analyse_liveness(out);
  return out;
}

std::uint32_t GuestCode::flags_live_at(std::uint64_t pc) { return peek(pc).live; }
bool GuestCode::reads_incoming_flags(std::uint64_t pc) { return peek(pc).read != 0; }

GuestCode::Peek GuestCode::peek(std::uint64_t pc) {
  if (const auto known = peeked_.find(pc); known != peeked_.end()) return known->second;
  CodeReader reader;
  Peek result{0, 0};
  std::uint32_t open = kArithmeticFlags;  // neither read nor written so far
  std::uint64_t at = pc;
  bool decided = false;
  for (std::size_t n = 0; n < kPeekInstructions && open != 0 && !decided; ++n) {
    const auto bytes = reader.at(at);
    const Instruction i = bytes.empty() ? Instruction{} : decode(at, bytes);
    result.read |= i.flags_read & open;
    open &= ~(i.flags_kill | i.flags_read);
    at = i.kind == InstructionClass::kJump ? i.target : i.next();
    if (leaves_function(i)) {
      if (!flags_live_everywhere_) open = 0;
      decided = true;
    } else if (i.ends_block() && i.kind != InstructionClass::kJump) {
      decided = true;
    }
  }
  result.live = result.read | open;
  return peeked_[pc] = result;
}

std::uint32_t GuestCode::flags_live_after(const Instruction& last) {
  if (leaves_function(last)) return flags_live_everywhere_ ? kArithmeticFlags : 0;
  if (last.kind == InstructionClass::kJump) return flags_live_at(last.target);
  if (last.kind == InstructionClass::kConditionalJump)
    return flags_live_at(last.target) | flags_live_at(last.next());
  if (last.ends_block()) return kArithmeticFlags;
  return flags_live_at(last.next());
}

void GuestCode::analyse_liveness(DecodedBlock& block) {
  const auto& code = block.instructions;
  block.live_gpr.resize(code.size());
  block.live_flags.resize(code.size());
  if (code.empty()) return;
  std::uint16_t gpr = kAllGprs;
  std::uint32_t flags = flags_live_after(code.back());
  for (std::size_t n = code.size(); n-- > 0;) {
    const Instruction& i = code[n];
    gpr = static_cast<std::uint16_t>((gpr & ~i.gpr_kill) | i.gpr_read | (1u << kRsp));
    flags = (flags & ~i.flags_kill) | i.flags_read;
    // What leaves to the engine shows it every register.
    if (i.ends_block() || (i.kind != InstructionClass::kPlain && i.kind != InstructionClass::kString))
      gpr = kAllGprs;
    block.live_gpr[n] = gpr;
    block.live_flags[n] = flags;
  }
}

}  // namespace elision::vm
