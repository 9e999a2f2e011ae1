// SPDX-License-Identifier: Apache-2.0
// The code in front of a memory access: the inlined filter lookup and its slow path.
//
//   [spill scratch]                        only if live
//   lea  a, [operand]
//   lea  t, [a + size - 1]
//   shr  a, 2 ; and a, 16383*16           index: 16 bytes an entry, by line
//   and  t, -64 ; xor t, epoch ; xor t, filter[a].tag
//   and  t, ~tolerated ; jne slow           tolerated: machine/filter.h
//   mov  filter[a].used, 1
//   [reload scratch]
//
// Flags that are live around the hook are kept in Core::flags_slot, where the slow path finds them.
#include "vm/block_builder.h"
#include "vm/core.h"

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
  out_.store(core_field(kOffsetScratch + 16), kRax);
  out_.save_flags_to_rax();
  out_.store(core_field(kOffsetFlags), kRax);
  out_.load(kRax, core_field(kOffsetScratch + 16));
}

void BlockBuilder::restore_flags() {
  out_.store(core_field(kOffsetScratch + 16), kRax);
  out_.load32(kRax, core_field(kOffsetFlags));
  out_.restore_flags_from_rax();
  out_.load(kRax, core_field(kOffsetScratch + 16));
}

void BlockBuilder::pick_scratch(std::size_t n, std::uint16_t addresses, int (&scratch)[2],
                                bool (&spill)[2]) const {
  unsigned found = 0;
  const std::uint16_t live = code_block_.live_gpr[n];
  for (int pass = 0; pass < 2 && found < 2; ++pass) {
    for (int reg = 0; reg < static_cast<int>(kGprCount) && found < 2; ++reg) {
      const bool is_live = live >> reg & 1;
      if (reg == kRsp || addresses >> reg & 1 || is_live != (pass == 1)) continue;
      scratch[found] = reg;
      spill[found++] = is_live;
    }
  }
}

void BlockBuilder::address_to(int reg, const MemoryOperand& m) {
  if (m.rip_relative) {
    out_.move_imm(reg, static_cast<std::uint64_t>(m.displacement));
  } else {
    MemoryOperand plain = m;
    plain.segment = Segment::kNone;
    out_.lea(reg, plain);
  }
  if (m.segment == Segment::kFs) out_.add(reg, core_field(kOffsetFsBase));
}

/// What may be the matter with a line that an access uses without asking.
std::uint64_t BlockBuilder::tolerated(std::size_t n, unsigned access) const {
  const std::uint64_t late = flow_[2 * n + access].feeds_address ? 0 : machine::FilterEntry::kInFlight;
  return code_block_.instructions[n].access[access].write ? late : late | machine::FilterEntry::kNoStore;
}

/// The hook that notes when what instruction n loads is there.
const Hook* BlockBuilder::hook_of_load(std::size_t n) const {
  const Instruction& i = code_block_.instructions[n];
  for (unsigned access = i.accesses; access-- > 0;)
    if (i.access[access].read) return hooks_[2 * n + access];
  return nullptr;
}

Hook* BlockBuilder::new_hook(std::size_t n, unsigned access, std::uint64_t retry) {
  const Instruction& i = code_block_.instructions[n];
  Hook& hook = *hooks_[2 * n + access];
  hook.retry = retry;
  hook.pc = i.pc;
  hook.size = i.access[access].size;
  hook.kind = static_cast<std::uint8_t>(access_kind(i, i.access[access]));
  const DataFlow& flow = flow_[2 * n + access];
  hook.address_registers = flow.address_registers;
  hook.results = flow.results;
  hook.feeds_address = flow.feeds_address;
  unsigned found = 0;
  for (std::size_t load = n; load-- > 0 && found < 2;)
    if (flow.address_loads >> load & 1) hook.address_loads[found++] = hook_of_load(load);
  return &hook;
}

void BlockBuilder::hooks(std::size_t n) {
  const Instruction& i = code_block_.instructions[n];
  if (i.accesses == 0 || checked_) return;
  const bool live = flags_live(n);
  const std::uint64_t retry = out_.address();
  if (live) save_flags();
  for (unsigned k = 0; k < i.accesses; ++k) {
    if (i.locked || i.access[k].size > kLineBytes) {  // an atomic is ordered even if the line is private
      always_slow_hook(n, k, retry);
    } else {
      hook(n, k, retry);
    }
  }
  if (live) restore_flags();
}

/// From an address in `index` and that of the last byte in `tag`: the entry's offset in `index`, and ZF if the
/// access need not ask. Changes `tag`.
void BlockBuilder::filter_compare(int index, int tag, std::uint64_t tolerated) {
  out_.shift_right32(index, kIndexShift);
  out_.and32_imm32(index, kIndexBits);
  out_.and_imm8(tag, -64);
  out_.xor_(tag, core_field(kOffsetEpoch));
  out_.xor_(tag, core_field_indexed(index, kOffsetFilter));
  out_.and_imm8(tag, static_cast<int>(~tolerated));
}

void BlockBuilder::mark_used(int index) {
  out_.store_imm8(
      core_field_indexed(index, kOffsetFilter + static_cast<int>(offsetof(machine::FilterEntry, used))), 1);
}

void BlockBuilder::hook(std::size_t n, unsigned access, std::uint64_t retry) {
  const MemoryAccess& a = code_block_.instructions[n].access[access];
  SlowPath slow{};
  pick_scratch(n, a.operand.registers(), slow.scratch, slow.reload);
  const int address = slow.scratch[0];
  const int tag = slow.scratch[1];
  if (slow.reload[0]) out_.store(core_field(kOffsetScratch), address);
  if (slow.reload[1]) out_.store(core_field(kOffsetScratch + 8), tag);
  address_to(address, a.operand);
  out_.lea(tag, address, static_cast<std::int32_t>(a.size) - 1);
  filter_compare(address, tag, tolerated(n, access));
  slow.patch = out_.jump_if(kNotEqual);
  mark_used(address);
  if (slow.reload[0]) out_.load(address, core_field(kOffsetScratch));
  if (slow.reload[1]) out_.load(tag, core_field(kOffsetScratch + 8));
  Hook* description = new_hook(n, access, retry);
  description->done = out_.address();
  slow.hook = description;
  slow.operand = a.operand;
  slow.address_register = address;
  slow_paths_.push_back(slow);
}

void BlockBuilder::slow_path(const SlowPath& s) {
  out_.land(s.patch);
  address_to(s.address_register, s.operand);
  out_.store(core_field(kOffsetHookAddress), s.address_register);
  if (s.reload[0]) out_.load(s.scratch[0], core_field(kOffsetScratch));
  if (s.reload[1]) out_.load(s.scratch[1], core_field(kOffsetScratch + 8));
  out_.store_imm64(core_field(kOffsetHook),
                   static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(s.hook)));
  out_.jump_through(MemoryOperand{
      .displacement = static_cast<std::int64_t>(stub_slot(static_cast<unsigned>(Stub::kSlowAccess)))});
}

void BlockBuilder::always_slow_hook(std::size_t n, unsigned access, std::uint64_t retry) {
  SlowPath slow{};
  slow.operand = code_block_.instructions[n].access[access].operand;
  pick_scratch(n, slow.operand.registers(), slow.scratch, slow.reload);
  slow.reload[1] = false;
  if (slow.reload[0]) out_.store(core_field(kOffsetScratch), slow.scratch[0]);
  slow.patch = out_.jump();
  Hook* description = new_hook(n, access, retry);
  description->done = out_.address();
  slow.hook = description;
  slow.address_register = slow.scratch[0];
  slow_paths_.push_back(slow);
}

}  // namespace elision::vm
