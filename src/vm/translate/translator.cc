// SPDX-License-Identifier: Apache-2.0
// Blocks, branches, and the links between blocks.
#include "vm/translate/translator.h"

#include "vm/cpu/cpu.h"
#include "vm/translate/block_builder.h"

namespace elision::vm {
namespace {

MemoryOperand absolute(std::uint64_t address) {
  return MemoryOperand{.displacement = static_cast<std::int64_t>(address)};
}

}  // namespace

const Block* translate_block(CodeCache& cache, GuestCode& code, const machine::Description& machine,
                             const Translation& how, std::uint64_t pc, std::size_t most) {
  return BlockBuilder(cache, code, machine, how, pc, most).build();
}

BlockBuilder::BlockBuilder(CodeCache& cache, GuestCode& code, const machine::Description& machine,
                           const Translation& how, std::uint64_t pc, std::size_t most)
    : cache_(cache),
      code_(code),
      machine_(machine),
      how_(how),
      code_block_(code.block(pc, most)),
      out_(cache.cursor()) {
  block_.detail = how.detail;
  block_.pc = pc;
  block_.host = out_.address();
  if (is_counted()) return;
  flow_.resize(code_block_.instructions.size() * 2);
  checks_.resize(code_block_.instructions.size() * 2);
  for (std::size_t n = 0; n < code_block_.instructions.size(); ++n)
    for (unsigned k = 0; k < code_block_.instructions[n].accesses; ++k)
      checks_[2 * n + k] = cache_.allocate_meta(AccessCheck{});
  block_data_flow(code_block_.instructions, machine_, flow_);
}

const Block* BlockBuilder::build() {
  const auto& code = code_block_.instructions;
  if (code.empty()) return nullptr;
  block_.end_pc = code.back().pc + code.back().looked_at;
  prologue();
  for (std::size_t n = 0; n < code.size();) {
    const CheckGroup together = group_at(n);
    if (together.pays() && how_.counted_accesses == 0) {
      group(n, together);
      n = together.end;
    } else {
      instruction(n);
      note_writes(code[n++]);
    }
  }
  const Instruction& last = code.back();
  // A privileged instruction may complete without a fault: the host kernel emulates SIDT.
  const bool may_go_on = last.kind == InstructionClass::kUndefined && last.length > 0;
  if (!last.ends_block() || may_go_on) link(out_.jump(), last.next());
  out_of_line();
  block_.pages_read = code_.take_pages_read();
  return &cache_.add(std::move(block_), out_.here());
}

void BlockBuilder::prologue() {
  const bool live = flags_live(0);
  if (live) save_flags();
  if (is_timed()) check_fetched();
  charge(is_timed() ? block_cost_ticks(code_block_.instructions, machine_)
                    : counted_ticks(code_block_.instructions, machine_),
         code_block_.instructions.size());
  leave_if_out_of_budget(block_.pc);
  if (how_.is_watched) call_watch();
  if (live) restore_flags();
}

/// After charge(): lets other CPUs run if the budget is used up, then continues here. `pc` is the guest
/// address.
void BlockBuilder::leave_if_out_of_budget(std::uint64_t pc) {
  std::uint8_t* const patch = out_.jump_if(kSign);
  AccessCheck check{};
  check.retry = check.done = out_.address();
  check.pc = pc;
  budget_exits_.push_back({patch, cache_.allocate_meta(check)});
}

/// Counts an execution of the block, whose first instruction is watched.
void BlockBuilder::call_watch() {
  std::uint8_t* const patch = out_.jump();
  AccessCheck check{};
  check.kind = AccessCheck::kWatchedCode;
  check.retry = check.done = out_.address();
  check.pc = block_.pc;
  budget_exits_.push_back({patch, cache_.allocate_meta(check)});
}

/// Checks that L1I holds the lines of the block; if not, fetches them.
void BlockBuilder::check_fetched() {
  AccessCheck check{};
  check.retry = check.done = out_.address();
  check.pc = block_.pc;
  check.size = static_cast<std::uint32_t>(block_.end_pc - block_.pc);
  fetch_check_ = cache_.allocate_meta(check);
  const LineAddr last = line_of(GuestAddr(block_.end_pc - 1));
  for (LineAddr line = line_of(GuestAddr(block_.pc)); line <= last; line += LineAddr(1)) {
    const auto index = static_cast<int>(machine::Filter::code_index(line) * sizeof(std::uint32_t));
    out_.cmp32_imm32(cpu_field(kOffsetCode + index), machine::Filter::code_tag(line));
    fetch_patches_.push_back(out_.jump_if(kNotEqual));
  }
}

void BlockBuilder::range(const Instruction& i, int spilled) {
  block_.ranges.push_back({static_cast<std::uint32_t>(out_.address() - block_.host),
                           static_cast<std::uint32_t>(i.pc - block_.pc), static_cast<std::int8_t>(spilled),
                           overwritten_});
}

/// Subtracts `ticks` from the budget and counts the instructions. SF becomes the sign of the budget.
void BlockBuilder::charge(std::uint32_t ticks, std::size_t instructions) {
  // The budget begins at bit 24, and the immediate has 32 bits with sign.
  constexpr std::uint32_t kMostAtOnce = 127;
  constexpr unsigned kUpperHalf = 32 - kBudgetShift;
  if (ticks >> kUpperHalf != 0) {
    out_.sub32_imm32(cpu_field(kOffsetProgress + 4), ticks >> kUpperHalf);
    ticks &= (1u << kUpperHalf) - 1;
  }
  while (ticks > kMostAtOnce) {
    out_.add64_imm32(cpu_field(kOffsetProgress), -static_cast<std::int32_t>(kMostAtOnce << kBudgetShift));
    ticks -= kMostAtOnce;
  }
  out_.add64_imm32(cpu_field(kOffsetProgress), static_cast<std::int32_t>(instructions) -
                                                   static_cast<std::int32_t>(ticks << kBudgetShift));
}

void BlockBuilder::instruction(std::size_t n) {
  const Instruction& i = code_block_.instructions[n];
  range(i);
  count_accesses(n);
  switch (i.kind) {
    case InstructionClass::kJump:
      record_branch(i, i.target, kDirectJump);
      link(out_.jump(), i.target);
      return;
    case InstructionClass::kConditionalJump:
      conditional_jump(i);
      return;
    case InstructionClass::kLoop:
      loop(i);
      return;
    case InstructionClass::kCall:
      access_checks(n), call(i);
      return;
    case InstructionClass::kReturn:
      access_checks(n), return_(i);
      return;
    case InstructionClass::kIndirectJump:
    case InstructionClass::kIndirectCall:
      access_checks(n), indirect_branch(i);
      return;
    default:
      special(n);
      return;
  }
}

void BlockBuilder::link(std::uint8_t* patch, std::uint64_t target) {
  if (const Block* known = cache_.find(target, how_.detail)) {
    Emitter::patch(patch, known->host);
  } else {
    links_.push_back({patch, target});
  }
}

void BlockBuilder::out_of_line() {
  for (const SlowCopy& slow : slow_copies_) slow_copy(slow);
  for (const SlowPath& slow : slow_paths_) slow_path(slow);
  for (const UnsureBranch& unsure : unsure_branches_) unsure_branch(unsure);
  if (is_timed()) fetch();
  for (const BudgetExit& budget : budget_exits_) {
    out_.land(budget.patch);
    out_.store_imm64(cpu_field(kOffsetAccessCheck),
                     static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(budget.check)));
    out_.jump_through(absolute(stub_slot(static_cast<unsigned>(Stub::kBudget))));
  }
  for (const LinkStub& stub : links_) {
    out_.land(stub.patch);
    Exit exit{};
    exit.reason = ExitReason::kLink;
    exit.pc = stub.target;
    exit.patch = stub.patch;
    emit_exit(out_, cache_.allocate_meta(exit));
  }
  for (const ExitStub& stub : exits_) {
    out_.land(stub.patch);
    emit_exit(out_, stub.exit);
  }
}

/// The slow path of check_fetched().
void BlockBuilder::fetch() {
  for (std::uint8_t* patch : fetch_patches_) out_.land(patch);
  out_.store_imm64(cpu_field(kOffsetAccessCheck),
                   static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(fetch_check_)));
  out_.jump_through(absolute(stub_slot(static_cast<unsigned>(Stub::kFetch))));
}

/// Emits the likelier edge first, as compilers lay out code: a backward branch taken, a forward branch not
/// taken.
void BlockBuilder::conditional_jump(const Instruction& i) {
  if (!is_timed()) {
    if (!records(kConditionalJump)) {
      link(out_.jump_if(i.condition), i.target);
      link(out_.jump(), i.next());
      return;
    }
    link(out_.jump_if(i.condition ^ 1u), i.next());
    record_branch(i, i.target, kConditionalJump);
    link(out_.jump(), i.target);
    return;
  }
  const bool backward = i.target <= i.pc;
  std::uint8_t* other = out_.jump_if(backward ? i.condition ^ 1u : i.condition);
  edge(i, backward);
  out_.land(other);
  edge(i, !backward);
}

/// One edge of a conditional jump, with its branch prediction (machine/branch_predictor.h).
void BlockBuilder::edge(const Instruction& i, bool taken) {
  using Predictor = machine::BranchPredictor;
  const std::uint64_t target = taken ? i.target : i.next();
  if (taken) record_branch(i, i.target, kConditionalJump);
  const std::uint32_t branch = Predictor::branch_at(i.pc);
  const MemoryOperand bias =
      cpu_field(kOffsetBranches + static_cast<int>(offsetof(Predictor, bias)) + static_cast<int>(branch));
  UnsureBranch unsure{nullptr, branch, taken, code_.flags_live_at(target) != 0, 0};
  if (unsure.flags_live) {
    out_.store(cpu_field(kOffsetScratch), kRcx);
    out_.load_byte(kRcx, bias);
    out_.lea(kRcx, kRcx, -static_cast<std::int32_t>(Predictor::sure(taken)));
    out_.skip_jump_if_rcx_zero();
    unsure.patch = out_.jump();
    out_.load(kRcx, cpu_field(kOffsetScratch));
  } else {
    out_.cmp8_imm(bias, Predictor::sure(taken));
    unsure.patch = out_.jump_if(kNotEqual);
  }
  unsure.resume = out_.address();
  link(out_.jump(), target);
  unsure_branches_.push_back(unsure);
}

void BlockBuilder::unsure_branch(const UnsureBranch& unsure) {
  out_.land(unsure.patch);
  if (unsure.flags_live) {
    out_.load(kRcx, cpu_field(kOffsetScratch));
    save_flags();
  }
  out_.store_imm64(cpu_field(kOffsetBranch),
                   static_cast<std::int32_t>(unsure.branch * 2 + (unsure.taken ? 1 : 0)));
  out_.store(cpu_field(kOffsetScratch), kRsp);
  out_.load(kRsp, absolute(kHostStack));
  out_.call_through(absolute(stub_slot(static_cast<unsigned>(Stub::kBranch))));
  out_.load(kRsp, cpu_field(kOffsetScratch));
  if (unsure.flags_live) restore_flags();
  Emitter::patch(out_.jump(), unsure.resume);
}

/// Emits the record of a branch that is about to be taken, if its kind is recorded. `to`: 0 if
/// Cpu::exit_value has the target. Changes no register and no flag.
void BlockBuilder::record_branch(const Instruction& i, std::uint64_t to, BranchKind kind) {
  if (!records(kind)) return;
  BranchSite* const site = cache_.allocate_meta(BranchSite{i.pc, to, kind, 0});
  out_.store_imm64(cpu_field(kOffsetBranchSite),
                   static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(site)));
  out_.jump_through(absolute(stub_slot(static_cast<unsigned>(Stub::kRecordBranch))));
  site->done = out_.address();
}

/// LOOP, LOOPcc and JRCXZ have only short forms: they skip a jump to the next instruction.
void BlockBuilder::loop(const Instruction& i) {
  constexpr unsigned kJumpBytes = 5;
  out_.raw(i.bytes, i.length - 1u);
  out_.byte(kJumpBytes);
  link(out_.jump(), i.next());
  record_branch(i, i.target, kConditionalJump);
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
  // If the code after the call reads flags, they pass through returns.
  if (code_.reads_incoming_flags(i.next())) code_.assume_flags_live();
  record_branch(i, i.target, kDirectCall);
  link(out_.jump(), i.target);
}

/// An indirect jump or call: spills RCX and RDX, loads the target into RCX and jumps there.
void BlockBuilder::indirect_branch(const Instruction& i) {
  if (code_.passes_flags(i)) save_flags();
  out_.store(cpu_field(kOffsetScratch), kRcx);
  out_.store(cpu_field(kOffsetScratch + 8), kRdx);
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
  if (code_.passes_flags(i)) save_flags();
  out_.store(cpu_field(kOffsetScratch), kRcx);
  out_.store(cpu_field(kOffsetScratch + 8), kRdx);
  out_.byte(0x59);  // pop rcx
  if (i.length >= 3 && (i.bytes[i.length - 3] == 0xc2)) {
    const unsigned popped = i.bytes[i.length - 2] | static_cast<unsigned>(i.bytes[i.length - 1]) << 8;
    out_.lea(kRsp, kRsp, static_cast<std::int32_t>(popped));
  }
  jump_to_rcx(i);
}

/// Emits BranchPredictor::resolve_indirect. RCX is the target of an indirect jump or call; RDX and the flags
/// are free.
void BlockBuilder::predict_target(const Instruction& i) {
  using Predictor = machine::BranchPredictor;
  constexpr std::uint32_t kMask = (Predictor::kTargets - 1) * sizeof(std::uint32_t);
  const MemoryOperand path = cpu_field(kOffsetBranches + static_cast<int>(offsetof(Predictor, path)));
  const auto site = static_cast<int>(Predictor::site_at(i.pc) * sizeof(std::uint32_t));
  const MemoryOperand predicted =
      cpu_field_indexed(kRdx, kOffsetBranches + static_cast<int>(offsetof(Predictor, target)) + site);
  out_.load32(kRdx, path);
  out_.shift_left32(kRdx, 2);
  out_.and32_imm32(kRdx, kMask);
  out_.cmp32(kRcx, predicted);
  std::uint8_t* right = out_.jump_if_short(kEqual);
  out_.store32(predicted, kRcx);
  misprediction();
  out_.land_short(right);
  out_.load32(kRdx, path);
  out_.shift_left32(kRdx, Predictor::kPathShift);
  out_.store32(path, kRdx);
  out_.move32(kRdx, kRcx);
  out_.shift_right32(kRdx, 2);
  out_.xor32_to(path, kRdx);
}

/// Charges and counts a misprediction.
void BlockBuilder::misprediction() {
  charge(machine_.core.branch_misprediction_cycles * kTicksPerCycle, 0);
  out_.add64_imm32(
      cpu_field(kOffsetBranches + static_cast<int>(offsetof(machine::BranchPredictor, mispredictions))), 1);
}

/// Looks RCX up in the indirect-branch table. The guest's RCX and RDX are spilled.
void BlockBuilder::jump_to_rcx(const Instruction& i) {
  const BranchKind kind = i.kind == InstructionClass::kReturn         ? kReturn
                          : i.kind == InstructionClass::kIndirectCall ? kIndirectCall
                                                                      : kIndirectJump;
  if (records(kind)) {
    out_.store(cpu_field(kOffsetExitValue), kRcx);
    record_branch(i, 0, kind);
  }
  if (is_timed() && i.kind != InstructionClass::kReturn) predict_target(i);
  constexpr unsigned kEntryShift = 4;
  static_assert(sizeof(BranchEntry) == 1u << kEntryShift && kBranchEntries == 1u << 16);
  is_timed() ? out_.xor32_self(kRdx) : out_.move_imm(kRdx, branch_hash_start(how_.detail));
  out_.crc32(kRdx, kRcx);
  out_.zero_extend16(kRdx, kRdx);
  out_.shift_left32(kRdx, kEntryShift);
  out_.cmp(kRcx, MemoryOperand{.base = kRdx, .displacement = static_cast<std::int64_t>(kBranchTable)});
  std::uint8_t* miss = out_.jump_if_short(kNotEqual);
  out_.load(kRdx, MemoryOperand{.base = kRdx, .displacement = static_cast<std::int64_t>(kBranchTable + 8)});
  out_.store(cpu_field(kOffsetScratch + 24), kRdx);
  if (code_.passes_flags(i)) restore_flags();
  out_.load(kRcx, cpu_field(kOffsetScratch));
  out_.load(kRdx, cpu_field(kOffsetScratch + 8));
  out_.jump_through(cpu_field(kOffsetScratch + 24));
  out_.land_short(miss);
  out_.store(cpu_field(kOffsetExitValue), kRcx);
  if (code_.passes_flags(i)) restore_flags();
  out_.load(kRcx, cpu_field(kOffsetScratch));
  out_.load(kRdx, cpu_field(kOffsetScratch + 8));
  emit_exit(out_, new_exit(i, ExitReason::kIndirect, code_.passes_flags(i)));
}

}  // namespace elision::vm
