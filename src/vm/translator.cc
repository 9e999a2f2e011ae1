// SPDX-License-Identifier: Apache-2.0
// Blocks, branches and the chaining between them.
#include "vm/translator.h"

#include "vm/block_builder.h"
#include "vm/core.h"

namespace elision::vm {
namespace {

MemoryOperand absolute(std::uint64_t address) {
  return MemoryOperand{.displacement = static_cast<std::int64_t>(address)};
}

}  // namespace

const Block& Translator::translate(std::uint64_t pc) {
  return BlockBuilder(cache_, code_, machine_, pc).build();
}

BlockBuilder::BlockBuilder(CodeCache& cache, GuestCode& code, const machine::Description& machine,
                           std::uint64_t pc)
    : cache_(cache), code_(code), machine_(machine), code_block_(code.block(pc)), out_(cache.cursor()) {
  block_.pc = pc;
  block_.host = out_.address();
  flow_.resize(code_block_.instructions.size() * 2);
  hooks_.resize(code_block_.instructions.size() * 2);
  for (std::size_t n = 0; n < code_block_.instructions.size(); ++n)
    for (unsigned k = 0; k < code_block_.instructions[n].accesses; ++k)
      hooks_[2 * n + k] = cache_.allocate_meta(Hook{});
  block_data_flow(code_block_.instructions, flow_);
}

const Block& BlockBuilder::build() {
  const auto& code = code_block_.instructions;
  if (code_block_.unreadable) {
    Instruction nothing;
    nothing.pc = block_.pc;
    block_.end_pc = block_.pc + 1;
    full_exit(nothing, ExitReason::kFault);
    return cache_.add(std::move(block_), out_.here());
  }
  block_.end_pc = code.back().next();
  prologue();
  for (std::size_t n = 0; n < code.size();) {
    const HookGroup together = group_at(n);
    if (together.pays()) {
      group(n, together);
      n = together.end;
    } else {
      instruction(n++);
    }
  }
  const Instruction& last = code.back();
  // What is privileged may end without a fault all the same: the host's kernel emulates SIDT.
  const bool may_go_on = last.kind == InstructionClass::kUndefined && last.length > 0;
  if (!last.ends_block() || may_go_on) link(out_.jump(), last.next());
  out_of_line();
  return cache_.add(std::move(block_), out_.here());
}

void BlockBuilder::prologue() {
  const bool live = flags_live(0);
  if (live) save_flags();
  charge(block_cost_ticks(code_block_.instructions, machine_), code_block_.instructions.size());
  prologue_patch_ = out_.jump_if(kSign);
  Hook hook{};
  hook.retry = hook.done = out_.address();
  hook.pc = block_.pc;
  prologue_hook_ = cache_.allocate_meta(hook);
  if (live) restore_flags();
}

void BlockBuilder::range(const Instruction& i, int spilled) {
  block_.ranges.push_back({static_cast<std::uint32_t>(out_.address() - block_.host),
                           static_cast<std::uint32_t>(i.pc - block_.pc), static_cast<std::int8_t>(spilled)});
}

/// Takes from the budget and counts instructions; leaves the sign of the budget in SF.
void BlockBuilder::charge(std::uint32_t ticks, std::size_t instructions) {
  constexpr std::uint32_t kMostAtOnce =
      127;  // of a field that begins at bit 24, in a signed 32-bit immediate
  constexpr unsigned kUpperHalf = 32 - kBudgetShift;
  if (ticks >> kUpperHalf != 0) {
    out_.sub32_imm32(core_field(kOffsetProgress + 4), ticks >> kUpperHalf);
    ticks &= (1u << kUpperHalf) - 1;
  }
  while (ticks > kMostAtOnce) {
    out_.add64_imm32(core_field(kOffsetProgress), -static_cast<std::int32_t>(kMostAtOnce << kBudgetShift));
    ticks -= kMostAtOnce;
  }
  out_.add64_imm32(core_field(kOffsetProgress), static_cast<std::int32_t>(instructions) -
                                                    static_cast<std::int32_t>(ticks << kBudgetShift));
}

void BlockBuilder::instruction(std::size_t n) {
  const Instruction& i = code_block_.instructions[n];
  range(i);
  switch (i.kind) {
    case InstructionClass::kJump:
      link(out_.jump(), i.target);
      return;
    case InstructionClass::kConditionalJump:
      conditional_jump(i);
      return;
    case InstructionClass::kLoop:
      loop(i);
      return;
    case InstructionClass::kCall:
      hooks(n), call(i);
      return;
    case InstructionClass::kReturn:
      hooks(n), return_(i);
      return;
    case InstructionClass::kIndirectJump:
      hooks(n), indirect_jump(i);
      return;
    case InstructionClass::kIndirectCall:
      hooks(n), indirect_call(i);
      return;
    default:
      special(n);
      return;
  }
}

void BlockBuilder::link(std::uint8_t* patch, std::uint64_t target) {
  if (const Block* known = cache_.find(target)) {
    Emitter::patch(patch, known->host);
  } else {
    links_.push_back({patch, target});
  }
}

void BlockBuilder::out_of_line() {
  for (const SlowCopy& slow : slow_copies_) slow_copy(slow);
  for (const SlowPath& slow : slow_paths_) slow_path(slow);
  out_.land(prologue_patch_);
  out_.store_imm64(core_field(kOffsetHook),
                   static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(prologue_hook_)));
  out_.jump_through(absolute(stub_slot(static_cast<unsigned>(Stub::kBudget))));
  for (const LinkStub& stub : links_) {
    out_.land(stub.patch);
    Exit exit{};
    exit.reason = ExitReason::kLink;
    exit.pc = stub.target;
    exit.patch = stub.patch;
    emit_exit(cache_.allocate_meta(exit));
  }
  for (const ExitStub& stub : exits_) {
    out_.land(stub.patch);
    emit_exit(stub.exit);
  }
}

void BlockBuilder::conditional_jump(const Instruction& i) {
  link(out_.jump_if(i.condition), i.target);
  link(out_.jump(), i.next());
}

/// LOOP, LOOPcc and JRCXZ have only short forms: jump over the jump.
void BlockBuilder::loop(const Instruction& i) {
  constexpr unsigned kJumpBytes = 5;
  out_.raw(i.bytes, i.length - 1u);
  out_.byte(kJumpBytes);
  link(out_.jump(), i.next());
  link(out_.jump(), i.target);
}

void BlockBuilder::push_return_address(std::uint64_t address) {
  if (address < 0x80000000u) {
    out_.byte(0x68), out_.word32(static_cast<std::uint32_t>(address));  // push imm32
    return;
  }
  out_.store_imm32(MemoryOperand{.base = kRsp, .displacement = -8}, static_cast<std::uint32_t>(address));
  out_.store_imm32(MemoryOperand{.base = kRsp, .displacement = -4},
                   static_cast<std::uint32_t>(address >> 32));
  out_.lea(kRsp, kRsp, -8);
}

void BlockBuilder::call(const Instruction& i) {
  push_return_address(i.next());
  // Code behind the call that reads flags shows that they pass through returns.
  if (code_.reads_incoming_flags(i.next())) code_.assume_flags_live();
  link(out_.jump(), i.target);
}

void BlockBuilder::indirect_call(const Instruction& i) { indirect_jump(i); }

/// Loads the target of an indirect jump or call into RCX (RCX and RDX are spilled first) and goes there.
void BlockBuilder::indirect_jump(const Instruction& i) {
  if (code_.flags_live_everywhere()) save_flags();
  out_.store(core_field(kOffsetScratch), kRcx);
  out_.store(core_field(kOffsetScratch + 8), kRdx);
  if (i.accesses > 0 && i.access[0].read) {
    MemoryOperand m = i.access[0].operand;
    if (m.rip_relative) {
      out_.move_imm(kRcx, static_cast<std::uint64_t>(m.displacement));
      m = MemoryOperand{.segment = m.segment, .base = kRcx};
    }
    out_.load(kRcx, m);
  } else {
    const auto encoded = static_cast<unsigned>(i.bytes[i.length - 1] & 7);
    const bool extended = i.length >= 3 && (i.bytes[i.length - 3] & 0xf1) == 0x41;
    out_.move(kRcx, static_cast<int>(encoded | (extended ? 8u : 0u)));
  }
  if (i.kind == InstructionClass::kIndirectCall) push_return_address(i.next());
  jump_to_rcx(i);
}

void BlockBuilder::return_(const Instruction& i) {
  if (code_.flags_live_everywhere()) save_flags();
  out_.store(core_field(kOffsetScratch), kRcx);
  out_.store(core_field(kOffsetScratch + 8), kRdx);
  out_.byte(0x59);  // pop rcx
  if (i.length >= 3 && (i.bytes[i.length - 3] == 0xc2)) {
    const unsigned popped = i.bytes[i.length - 2] | static_cast<unsigned>(i.bytes[i.length - 1]) << 8;
    out_.lea(kRsp, kRsp, static_cast<std::int32_t>(popped));
  }
  jump_to_rcx(i);
}

/// Looks RCX up in the branch table; RCX and RDX lie in scratch.
void BlockBuilder::jump_to_rcx(const Instruction& i) {
  constexpr unsigned kEntryShift = 4;
  static_assert(sizeof(BranchEntry) == 1u << kEntryShift && kBranchEntries == 1u << 16);
  out_.xor32_self(kRdx);
  out_.crc32(kRdx, kRcx);
  out_.zero_extend16(kRdx, kRdx);
  out_.shift_left32(kRdx, kEntryShift);
  out_.cmp(kRcx, MemoryOperand{.base = kRdx, .displacement = static_cast<std::int64_t>(kBranchTable)});
  std::uint8_t* miss = out_.jump_if_short(kNotEqual);
  out_.load(kRdx, MemoryOperand{.base = kRdx, .displacement = static_cast<std::int64_t>(kBranchTable + 8)});
  out_.store(core_field(kOffsetScratch + 24), kRdx);
  if (code_.flags_live_everywhere()) restore_flags();
  out_.load(kRcx, core_field(kOffsetScratch));
  out_.load(kRdx, core_field(kOffsetScratch + 8));
  out_.jump_through(core_field(kOffsetScratch + 24));
  out_.land_short(miss);
  out_.store(core_field(kOffsetExitValue), kRcx);
  if (code_.flags_live_everywhere()) restore_flags();
  out_.load(kRcx, core_field(kOffsetScratch));
  out_.load(kRdx, core_field(kOffsetScratch + 8));
  emit_exit(new_exit(i, ExitReason::kIndirect));
}

}  // namespace elision::vm
