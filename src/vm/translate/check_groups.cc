// SPDX-License-Identifier: Apache-2.0
// Check groups: one access check for several consecutive instructions.
//
// A group is a run of copied instructions whose addresses are all known before the first one: no base or
// index register changes in between, except RSP by constants. Accesses whose addresses differ only in the
// displacement form a window. A window is at most one line long, so it lies in one or two lines. The group
// begins with two filter look-ups for each window, for its first and its last byte. A window so short that it
// rarely straddles two lines has one look-up for all its bytes. If all look-ups hit, the instructions follow
// without access checks. If one misses, a slow copy of the group runs instead. It follows the block, and in
// it each instruction has its own access checks. So the order of events is the same with and without groups.
//
// Only timed code has groups. The entries' used bits are set after all look-ups have hit: a group that fails
// changes nothing.
#include <Zydis/Zydis.h>

#include <algorithm>
#include <optional>
#include <span>

#include "vm/cpu/cpu.h"
#include "vm/translate/block_builder.h"

namespace elision::vm {
namespace {

constexpr std::int64_t kShortWindowBytes = 16;

/// The constant by which `i` changes RSP, or nothing if it is not a constant.
std::optional<std::int64_t> rsp_step(const Instruction& i) {
  if (!(i.gpr_write >> kRsp & 1)) return 0;
  switch (i.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
      return i.access[i.accesses - 1].size == 8 ? std::optional<std::int64_t>(-8) : std::nullopt;
    case ZYDIS_MNEMONIC_POP:
      return i.access[0].size == 8 && i.accesses == 1 && i.length <= 2 && (i.bytes[i.length - 1] & 7) != kRsp
                 ? std::optional<std::int64_t>(8)
                 : std::nullopt;
    default:
      break;
  }
  if (i.length < 4 || i.bytes[0] != 0x48) return std::nullopt;
  const bool subtracts = i.bytes[2] == 0xec;
  if (!subtracts && i.bytes[2] != 0xc4) return std::nullopt;
  std::int64_t amount;
  if (i.bytes[1] == 0x83 && i.length == 4) {
    amount = static_cast<std::int8_t>(i.bytes[3]);
  } else if (i.bytes[1] == 0x81 && i.length == 7) {
    std::int32_t wide;
    std::memcpy(&wide, i.bytes + 3, 4);
    amount = wide;
  } else {
    return std::nullopt;
  }
  return subtracts ? -amount : amount;
}

bool can_be_grouped(const Instruction& i) {
  switch (i.kind) {
    case InstructionClass::kPlain:
    case InstructionClass::kCall:
    case InstructionClass::kReturn:
    case InstructionClass::kIndirectJump:
    case InstructionClass::kIndirectCall:
      break;
    default:
      return false;
  }
  if (i.locked || i.x87 || i.aborts_transaction) return false;
  for (unsigned k = 0; k < i.accesses; ++k)
    if (i.access[k].size > kLineBytes || i.access[k].operand.segment != Segment::kNone ||
        i.access[k].operand.address_size_32)
      return false;
  return true;
}

/// True if the displacements of the first and the last byte can be encoded.
bool fits(std::int64_t begin, std::int64_t end) { return begin >= INT32_MIN && end - 1 <= INT32_MAX; }

bool same_registers(const MemoryOperand& a, const MemoryOperand& b) {
  return a.base == b.base && a.index == b.index && a.scale == b.scale && a.rip_relative == b.rip_relative;
}

}  // namespace

/// Adds an access to the group. Returns false, and changes nothing, if it does not fit.
bool BlockBuilder::CheckGroup::add(const MemoryAccess& access, std::uint64_t tolerated, std::int64_t rsp) {
  MemoryOperand m = access.operand;
  if (m.base == kRsp) m.displacement += rsp;
  const std::int64_t begin = m.displacement, end = begin + access.size;
  for (unsigned w = 0; w < windows; ++w) {
    Window& one = window[w];
    if (!same_registers(one.first, m)) continue;
    const std::int64_t low = std::min(one.first.displacement, begin), high = std::max(one.end, end);
    if (high - low > static_cast<std::int64_t>(kLineBytes) || !(m.rip_relative || fits(low, high))) continue;
    one.first.displacement = low;
    one.end = high;
    one.tolerated &= tolerated;
    ++accesses;
    return true;
  }
  if (windows == kMostWindows || !(m.rip_relative || fits(begin, end))) return false;
  window[windows++] = {m, end, tolerated};
  ++accesses;
  return true;
}

unsigned BlockBuilder::CheckGroup::looks() const {
  unsigned looks = 0;
  for (unsigned w = 0; w < windows; ++w) looks += window[w].is_short() ? 1 : 2;
  return looks;
}

bool BlockBuilder::CheckGroup::Window::is_short() const {
  return end - first.displacement <= kShortWindowBytes;
}

/// The longest group that begins with instruction n and ends with an instruction that accesses memory.
BlockBuilder::CheckGroup BlockBuilder::group_at(std::size_t n) const {
  const auto& code = code_block_.instructions;
  CheckGroup group;
  if (!is_timed() || code[n].accesses == 0) return group;
  std::uint16_t changed = 0;
  std::int64_t rsp = 0;
  for (std::size_t at = n; at < code.size() && can_be_grouped(code[at]); ++at) {
    const Instruction& i = code[at];
    CheckGroup longer = group;
    bool fits = true;
    for (unsigned k = 0; k < i.accesses && fits; ++k) {
      const MemoryOperand& m = i.access[k].operand;
      fits = !(m.base >= 0 && changed >> m.base & 1) && !(m.index >= 0 && changed >> m.index & 1) &&
             longer.add(i.access[k], tolerated(at, k), rsp);
    }
    if (!fits) break;
    if (i.accesses > 0) {
      group = longer;
      group.end = at + 1;
    }
    const std::optional<std::int64_t> step = rsp_step(i);
    std::uint16_t written = i.gpr_write;
    if (step) {
      rsp += *step;
      written = static_cast<std::uint16_t>(written & ~(1u << kRsp));
    }
    changed = static_cast<std::uint16_t>(changed | written);
  }
  return group;
}

void BlockBuilder::group(std::size_t n, const CheckGroup& g) {
  SlowCopy slow{
      .begin = n, .end = g.end, .flags_live = flags_live(n), .scratch = pick_scratch(n, g.registers())};
  const int index = slow.scratch.reg[0];
  if (slow.flags_live) save_flags();
  spill(slow.scratch);
  unsigned looks = 0;
  const auto kept = [](unsigned look) { return cpu_field(kOffsetGroup + 8 * static_cast<int>(look)); };
  const auto look_at = [&](MemoryOperand m, std::int64_t begin, std::int64_t end, std::uint64_t tolerated) {
    m.displacement = begin;
    slow.misses.push_back(look(m, static_cast<std::uint32_t>(end - begin), tolerated, slow.scratch));
    if (++looks < g.looks()) out_.store(kept(looks - 1), index);
  };
  for (const CheckGroup::Window& window : std::span(g.window, g.windows)) {
    const std::int64_t begin = window.first.displacement;
    if (window.is_short()) {
      look_at(window.first, begin, window.end, window.tolerated);
    } else {
      look_at(window.first, begin, begin + 1, window.tolerated);
      look_at(window.first, window.end - 1, window.end, window.tolerated);
    }
  }
  mark_used(index);
  for (unsigned look = 0; look + 1 < looks; ++look) {
    out_.load(index, kept(look));
    mark_used(index);
  }
  reload(slow.scratch);
  if (slow.flags_live) restore_flags();
  slow.overwritten = overwritten_;
  checked_ = true;
  for (std::size_t at = n; at < g.end; ++at) {
    slow.resume = out_.address();
    instruction(at);
    note_writes(code_block_.instructions[at]);
  }
  checked_ = false;
  if (!code_block_.instructions[g.end - 1].ends_block()) slow.resume = out_.address();
  slow_copies_.push_back(std::move(slow));
}

void BlockBuilder::slow_copy(const SlowCopy& slow) {
  overwritten_ = may_overwrite_ = slow.overwritten;
  for (std::uint8_t* miss : slow.misses) out_.land(miss);
  reload(slow.scratch);
  if (slow.flags_live) restore_flags();
  for (std::size_t at = slow.begin; at < slow.end; ++at) {
    const Instruction& i = code_block_.instructions[at];
    if (i.ends_block()) {  // slow.resume continues with its branch
      range(i);
      access_checks(at);
    } else {
      instruction(at);
    }
    note_writes(i);
    may_overwrite_ = static_cast<std::uint16_t>(may_overwrite_ & ~i.gpr_kill);
  }
  Emitter::patch(out_.jump(), slow.resume);
}

}  // namespace elision::vm
