// SPDX-License-Identifier: Apache-2.0
#include "vm/decode/guest_code.h"

#include <algorithm>

#include "vm/host/guest_memory.h"
#include "vm/interface/guest_layout.h"

namespace elision::vm {
namespace {

constexpr std::uint16_t kAllGprs = 0xffff;
constexpr std::size_t kPeekInstructions = 12;
constexpr std::uint64_t kLongestInstruction = 15;

constexpr unsigned kPageShift = 12;
constexpr unsigned kMostCalls = 8;  // in a row that the search passes

void add_page(std::vector<std::uint64_t>& pages, std::uint64_t page) {
  if (std::find(pages.begin(), pages.end(), page) == pages.end()) pages.push_back(page);
}

bool is_call(const Instruction& i) {
  return i.kind == InstructionClass::kCall || i.kind == InstructionClass::kIndirectCall;
}

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

void note_form(FormsMet& forms, std::span<const std::uint8_t> bytes) {
  const std::string form = instruction_form(bytes);
  if (!form.empty()) forms.try_emplace(form, bytes.begin(), bytes.end());
}

}  // namespace

DecodedBlock GuestCode::block(std::uint64_t pc, std::size_t most) {
  DecodedBlock out;
  pages_read_.clear();
  while (out.instructions.size() < most) {
    const auto bytes = bytes_at(pc);
    const Instruction last = decode(pc, bytes);
    if (last.kind == InstructionClass::kIncomplete) break;
    out.instructions.push_back(last);
    if (forms_ != nullptr && last.length > 0) note_form(*forms_, bytes.first(last.length));
    if (last.ends_block()) break;
    pc = last.next();
    if (stops_ != nullptr && std::find(stops_->begin(), stops_->end(), pc) != stops_->end()) break;
  }
  analyse_liveness(out);
  return out;
}

std::optional<std::uint64_t> GuestCode::missing_byte(std::uint64_t pc) {
  const auto bytes = bytes_at(pc);
  if (decode(pc, bytes).kind != InstructionClass::kIncomplete) return std::nullopt;
  return pc + bytes.size();
}

/// The fetchable bytes of the instruction at `pc`, valid until the next call. Remembers the last mapping,
/// until forget(). Mapped bytes may still be unreadable, behind the end of a file.
std::span<const std::uint8_t> GuestCode::bytes_at(std::uint64_t pc) {
  if (pc < mapped_begin_ || pc >= mapped_end_ || mapped_end_ - pc < kLongestInstruction) {
    mapped_begin_ = pc;
    mapped_end_ = executable_end_(pc);
    if (mapped_end_ == 0) return {};
  }
  const std::uint64_t size = std::min(mapped_end_ - pc, kLongestInstruction);
  const std::uint64_t in_page = std::min(size, kPageBytes - pc % kPageBytes);
  const auto copy = [&](std::uint64_t from, std::uint64_t to) {
    return copy_guest_bytes(bytes_ + from, reinterpret_cast<const void*>(pc + from), to - from);
  };
  if (!copy(0, in_page)) return {};
  return {bytes_, in_page < size && copy(in_page, size) ? size : in_page};
}

std::uint32_t GuestCode::flags_live_at(std::uint64_t pc) { return peek(pc).live; }
bool GuestCode::reads_incoming_flags(std::uint64_t pc) { return peek(pc).read != 0; }

const GuestCode::Peek& GuestCode::peek(std::uint64_t pc) { return remembered(peeked_, pc, true); }

/// Looks at a function's first instructions, up to a call.
const GuestCode::Peek& GuestCode::peek_at_entry(std::uint64_t pc) { return remembered(entries_, pc, false); }

const GuestCode::Peek& GuestCode::remembered(std::unordered_map<std::uint64_t, Peek>& known, std::uint64_t pc,
                                             bool through_calls) {
  auto found = known.find(pc);
  if (found == known.end()) {
    std::vector<std::uint64_t> outer = std::exchange(pages_read_, {});
    Peek result = look_ahead(pc, through_calls);
    result.pages = std::exchange(pages_read_, std::move(outer));
    found = known.emplace(pc, std::move(result)).first;
  }
  for (const std::uint64_t page : found->second.pages) add_page(pages_read_, page);
  return found->second;
}

/// Flags count as read behind a call if the code there reads them before it writes them: the callee preserves
/// them (Go's duffzero) or returns them (Erlang). So the search continues behind the call.
GuestCode::Peek GuestCode::look_ahead(std::uint64_t pc, bool through_calls) {
  Peek result;
  std::uint32_t open = kArithmeticFlags;  // neither read nor written yet
  std::uint64_t at = pc;
  bool may_change = false;
  unsigned calls = 0;
  for (std::size_t n = 0; n < kPeekInstructions && open != 0; ++n) {
    may_change = may_change || writable_(at);
    const auto bytes = bytes_at(at);
    const Instruction i = decode(at, bytes);
    add_page(pages_read_, at >> kPageShift);
    add_page(pages_read_, (at + bytes.size()) >> kPageShift);
    result.read |= i.flags_read & open;
    open &= ~(i.flags_kill | i.flags_read);
    at = i.kind == InstructionClass::kJump ? i.target : i.next();
    if (is_call(i) && through_calls && !flags_live_everywhere_ && calls < kMostCalls) {
      if (i.kind == InstructionClass::kCall) result.read |= peek_at_entry(i.target).read & open;
      ++calls;
      n = 0;
    } else if (leaves_function(i)) {
      if (!passes_flags(i)) open = 0;
      break;
    } else if (i.ends_block() && i.kind != InstructionClass::kJump) {
      break;
    }
  }
  if (calls > 0) open = 0;
  result.live = may_change ? kArithmeticFlags : result.read | open;
  return result;
}

bool GuestCode::flags_read_across_call(const Instruction& i) {
  if (!is_call(i)) return false;
  return reads_incoming_flags(i.next()) ||
         (i.kind == InstructionClass::kCall && peek_at_entry(i.target).read != 0);
}

std::uint32_t GuestCode::flags_live_after(const Instruction& last) {
  if (leaves_function(last)) return passes_flags(last) || flags_read_across_call(last) ? kArithmeticFlags : 0;
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
    // An exit to the engine shows it every register.
    if (i.ends_block() || i.kind != InstructionClass::kPlain) gpr = kAllGprs;
    block.live_gpr[n] = gpr;
    block.live_flags[n] = flags;
  }
}

}  // namespace elision::vm
