// SPDX-License-Identifier: Apache-2.0
// Access checks: the inlined filter look-up before a memory access, and its slow path.
//
//   [spill scratch]                        if live
//   lea  a, [operand]
//   lea  t, [a + size - 1]
//   shr  a, 2 ; and a, 16383*16           index: 16 bytes an entry, by line
//   and  t, -64 ; xor t, epoch ; xor t, filter[a].tag
//   and  t, ~tolerated ; jne slow         tolerated: machine/filter.h; no AND if it is 0
//   mov  filter[a].used, 1
//   [reload scratch]
//
// Live flags are saved in Cpu::flags_slot, where the slow path finds them.
#include <algorithm>

#include "vm/cpu/cpu.h"
#include "vm/translate/block_builder.h"

namespace elision::vm {
namespace {

constexpr std::uint32_t kIndexBits = machine::Filter::kIndexMask * sizeof(machine::FilterEntry);
constexpr unsigned kIndexShift = 2;  // 64-byte lines, 16-byte entries
static_assert(kLineBytes >> kIndexShift == sizeof(machine::FilterEntry));

machine::AccessKind access_kind(const Instruction& i, const MemoryAccess& access) {
  if (i.locked) return machine::AccessKind::kAtomic;
  return access.write ? machine::AccessKind::kStore : machine::AccessKind::kLoad;
}

}  // namespace

void BlockBuilder::save_flags() {
  out_.store(cpu_field(kOffsetScratch + 16), kRax);
  out_.save_flags_to_rax();
  out_.store(cpu_field(kOffsetFlags), kRax);
  out_.load(kRax, cpu_field(kOffsetScratch + 16));
}

void BlockBuilder::restore_flags() {
  out_.store(cpu_field(kOffsetScratch + 16), kRax);
  out_.load32(kRax, cpu_field(kOffsetFlags));
  out_.restore_flags_from_rax();
  out_.load(kRax, cpu_field(kOffsetScratch + 16));
}

BlockBuilder::Scratch BlockBuilder::pick_scratch(std::size_t n, std::uint16_t addresses) const {
  Scratch scratch{};
  unsigned found = 0;
  const std::uint16_t live = code_block_.live_gpr[n];
  for (int pass = 0; pass < 2 && found < 2; ++pass) {
    for (int reg = 0; reg < static_cast<int>(kGprCount) && found < 2; ++reg) {
      const bool is_live = live >> reg & 1 || !(may_overwrite_ >> reg & 1);
      if (reg == kRsp || addresses >> reg & 1 || is_live != (pass == 1)) continue;
      scratch.reg[found] = reg;
      scratch.spilled[found++] = is_live;
    }
  }
  return scratch;
}

/// Saves live registers for reload(). Dead ones are saved too, in Cpu::overwritten: if a fault comes before
/// the guest writes them, the guest's signal handler sees their values.
void BlockBuilder::spill(const Scratch& scratch) {
  for (int k = 0; k < scratch.count; ++k) {
    const int reg = scratch.reg[k];
    if (scratch.spilled[k]) {
      out_.store(cpu_field(kOffsetScratch + 8 * k), reg);
    } else if (!(overwritten_ >> reg & 1)) {
      out_.store(cpu_field(kOffsetOverwritten + 8 * reg), reg);
      overwritten_ = static_cast<std::uint16_t>(overwritten_ | 1u << reg);
    }
  }
}

void BlockBuilder::reload(const Scratch& scratch) {
  for (int k = 0; k < scratch.count; ++k)
    if (scratch.spilled[k]) out_.load(scratch.reg[k], cpu_field(kOffsetScratch + 8 * k));
}

void BlockBuilder::address_to(int reg, const MemoryOperand& m) {
  if (m.rip_relative) {
    out_.move_imm(reg, static_cast<std::uint64_t>(m.displacement));
  } else {
    MemoryOperand plain = m;
    plain.segment = Segment::kNone;
    out_.lea(reg, plain);
  }
  if (m.segment == Segment::kFs) out_.add(reg, cpu_field(kOffsetFsBase));
}

std::uint64_t BlockBuilder::tolerated(std::size_t n, unsigned access) const {
  return machine::FilterEntry::tolerated(code_block_.instructions[n].access[access].write,
                                         flow_[2 * n + access].feeds_address);
}

/// The access check of instruction n's load, which records when the value arrives.
const AccessCheck* BlockBuilder::check_of_load(std::size_t n) const {
  const Instruction& i = code_block_.instructions[n];
  for (unsigned access = i.accesses; access-- > 0;)
    if (i.access[access].read) return checks_[2 * n + access];
  return nullptr;
}

const AccessCheck* BlockBuilder::new_check(std::size_t n, unsigned access, std::uint64_t retry) {
  const Instruction& i = code_block_.instructions[n];
  AccessCheck& check = *checks_[2 * n + access];
  check.retry = retry;
  check.done = out_.address();
  check.pc = i.pc;
  check.alone = i.accesses == 1;
  check.size = i.access[access].size;
  check.kind = static_cast<std::uint8_t>(access_kind(i, i.access[access]));
  const DataFlow& flow = flow_[2 * n + access];
  check.address_registers = flow.address_registers;
  check.results = flow.results;
  check.feeds_address = flow.feeds_address;
  check.register_cycles = flow.register_cycles;
  check.most_cycles = std::max({flow.register_cycles, flow.load_cycles, flow.earlier_cycles});
  unsigned found = 0;
  const auto depends = [&](std::uint64_t loads, std::uint8_t cycles, std::size_t from, std::size_t to) {
    for (std::size_t load = to; load-- > from && found < 2;) {
      if (!(loads >> load & 1)) continue;
      check.load_cycles[found] = cycles;
      check.address_loads[found++] = check_of_load(load);
    }
  };
  depends(flow.address_loads, flow.load_cycles, 0, n);
  depends(flow.earlier_loads, flow.earlier_cycles, n, code_block_.instructions.size());
  return &check;
}

/// Emits counts of the instruction's accesses, of the kinds that are counted.
void BlockBuilder::count_accesses(std::size_t n) {
  const Instruction& i = code_block_.instructions[n];
  if (how_.counted_accesses == 0 || i.accesses == 0) return;
  const bool live = flags_live(n);
  if (live) save_flags();
  for (const CountedAccess kind : {kCountedLoad, kCountedStore}) {
    const MemoryAccess* const first = std::find_if(
        i.access, i.access + i.accesses,
        [kind](const auto& access) { return kind == kCountedLoad ? access.read : access.write; });
    if ((how_.counted_accesses & kind) != 0 && first != i.access + i.accesses) count_access(i, *first, kind);
  }
  if (live) restore_flags();
}

/// Emits the count of one access. If it runs out, the helper records the access, whose address is in
/// Cpu::check_address. Changes flags.
void BlockBuilder::count_access(const Instruction& i, const MemoryAccess& access, CountedAccess kind) {
  const bool stores = kind == kCountedStore;
  if (i.kind == InstructionClass::kGather || i.kind == InstructionClass::kBitString) {
    out_.store_imm64(cpu_field(kOffsetCheckAddress), 0);  // it depends on more than the operand
  } else {
    out_.store(cpu_field(kOffsetScratch), kRax);
    address_to(kRax, access.operand);
    out_.store(cpu_field(kOffsetCheckAddress), kRax);
    out_.load(kRax, cpu_field(kOffsetScratch));
  }
  const std::size_t left = (stores ? sizeof(AccessCounter) : 0) + offsetof(AccessCounter, left);
  out_.add64_imm32(cpu_field(kOffsetAccesses + static_cast<int>(left)), -1);
  std::uint8_t* const patch = out_.jump_if(kEqual);
  AccessCheck check{};
  check.kind = stores ? AccessCheck::kRecordedStore : AccessCheck::kRecordedLoad;
  check.retry = check.done = out_.address();
  check.pc = i.pc;
  budget_exits_.push_back({patch, cache_.allocate_meta(check)});
}

void BlockBuilder::access_checks(std::size_t n) {
  const Instruction& i = code_block_.instructions[n];
  if (checked_ || is_counted() || i.accesses == 0) return;
  const bool live = flags_live(n);
  const std::uint64_t retry = out_.address();
  if (live) save_flags();
  for (unsigned k = 0; k < i.accesses; ++k) {
    if (!is_timed() && !i.access[k].write && i.access[k].size <= kLineBytes) {
      shared_memory_check(n, k, retry);
    } else if (!is_timed() || i.locked || i.access[k].size > kLineBytes) {  // atomics are ordered events
      always_slow_check(n, k, retry);
    } else {
      access_check(n, k, retry);
    }
  }
  if (live) restore_flags();
}

/// Looks up the `size` bytes at `m` in the filter. Returns the jump to the slow path. The first scratch
/// register becomes the offset of the filter entry.
std::uint8_t* BlockBuilder::look(const MemoryOperand& m, std::uint32_t size, std::uint64_t tolerated,
                                 const Scratch& scratch) {
  const int index = scratch.reg[0], tag = scratch.reg[1];
  address_to(index, m);
  out_.lea(tag, index, static_cast<std::int32_t>(size) - 1);
  out_.shift_right32(index, kIndexShift);
  out_.and32_imm32(index, kIndexBits);
  out_.and_imm8(tag, -64);
  out_.xor_(tag, cpu_field(kOffsetEpoch));
  out_.xor_(tag, cpu_field_indexed(index, kOffsetFilter));
  if (tolerated != 0) out_.and_imm8(tag, static_cast<int>(~tolerated));
  return out_.jump_if(kNotEqual);
}

void BlockBuilder::mark_used(int index) {
  out_.store_imm8(
      cpu_field_indexed(index, kOffsetFilter + static_cast<int>(offsetof(machine::FilterEntry, used))), 1);
}

void BlockBuilder::access_check(std::size_t n, unsigned access, std::uint64_t retry) {
  const MemoryAccess& a = code_block_.instructions[n].access[access];
  SlowPath slow{.operand = a.operand, .scratch = pick_scratch(n, a.operand.registers())};
  spill(slow.scratch);
  slow.patch = look(a.operand, a.size, tolerated(n, access), slow.scratch);
  mark_used(slow.scratch.reg[0]);
  reload(slow.scratch);
  continue_slowly(slow, n, access, retry);
}

/// For loads of logged code: only memory that other processes share takes the slow path.
void BlockBuilder::shared_memory_check(std::size_t n, unsigned access, std::uint64_t retry) {
  const MemoryOperand& m = code_block_.instructions[n].access[access].operand;
  SlowPath slow{.operand = m, .scratch = pick_scratch(n, m.registers())};
  slow.scratch.count = 1;
  const int offset = slow.scratch.reg[0];
  spill(slow.scratch);
  address_to(offset, m);
  out_.sub(offset, cpu_field(kOffsetSharedBegin));
  out_.cmp(offset, cpu_field(kOffsetSharedBytes));
  slow.patch = out_.jump_if(kBelow);
  reload(slow.scratch);
  continue_slowly(slow, n, access, retry);
}

void BlockBuilder::always_slow_check(std::size_t n, unsigned access, std::uint64_t retry) {
  const MemoryOperand& m = code_block_.instructions[n].access[access].operand;
  SlowPath slow{.operand = m, .scratch = pick_scratch(n, m.registers())};
  slow.scratch.count = 1;
  spill(slow.scratch);
  slow.patch = out_.jump();
  continue_slowly(slow, n, access, retry);
}

/// Adds a slow path, which returns to the current address.
void BlockBuilder::continue_slowly(SlowPath slow, std::size_t n, unsigned access, std::uint64_t retry) {
  slow.check = new_check(n, access, retry);
  slow_paths_.push_back(slow);
}

void BlockBuilder::slow_path(const SlowPath& s) {
  out_.land(s.patch);
  address_to(s.scratch.reg[0], s.operand);
  out_.store(cpu_field(kOffsetCheckAddress), s.scratch.reg[0]);
  reload(s.scratch);
  out_.store_imm64(cpu_field(kOffsetAccessCheck),
                   static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(s.check)));
  out_.jump_through(MemoryOperand{
      .displacement = static_cast<std::int64_t>(stub_slot(static_cast<unsigned>(Stub::kSlowAccess)))});
}

}  // namespace elision::vm
