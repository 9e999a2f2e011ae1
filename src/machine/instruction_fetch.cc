// SPDX-License-Identifier: Apache-2.0
// Instruction fetch: L1I, and how lines of code come into it.
//
// A miss in L1I stalls the core, which has nothing to execute. L1I is filled through L2. A miss in L2 also
// brings the next line to L2, because code is mostly fetched in order. Replacement is first in, first out. A
// fetched line joins no read set. The CPU's filter (filter.h) has the lines that are in L1I, so that
// translated blocks need not call the model for them.
#include "machine/instruction_fetch.h"

#include <algorithm>

#include "machine/replies.h"

namespace elision::machine {

Reply InstructionFetch::fetch(Cpu& cpu, LineAddr line, std::uint64_t now, Reach most) {
  std::uint64_t clock = now;
  if (fetch_within_core(cpu, line, now, clock)) return done(clock, clock, Reach::kCore);
  return most == Reach::kMachine ? fetch_in_order(cpu, line, now) : needs_order(Cycles(now));
}

bool InstructionFetch::fetch_within_core(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t& clock) {
  Core& core = *cpu.core;
  if (const std::uint32_t slot = core.l1i.find(line); slot != kNoSlot) {
    clock = stall(cpu, now, core.l1i.state(slot).arrival);  // a sibling may have asked for it
    cpu.filter->open_code(line);
    return true;
  }
  const std::uint32_t l2_slot = core.l2.find(line);
  if (l2_slot == kNoSlot || !(core.l2.state(l2_slot).flags & cpu.mine(kReadable))) return false;
  core.l2.mark_used(l2_slot);
  const std::uint64_t ready = std::max<std::uint64_t>(
      core.l2.state(l2_slot).arrival, now + core.tlb.translate_code(line) + description.l2.latency_cycles);
  clock = fill_l1i(cpu, line, now, ready);
  return true;
}

Reply InstructionFetch::fetch_in_order(Cpu& cpu, LineAddr line, std::uint64_t now) {
  const Request request{CpuId(cpu.id), line, AccessKind::kLoad, Cycles(now), Cycles(0)};
  Core& core = *cpu.core;
  std::uint32_t entry = directory.use(line);
  const bool in_l3 = entry != kNoSlot;
  std::uint64_t earliest = now;
  if (in_l3) {
    if (must_wait(request, cpu, entry, earliest)) return wait_until(earliest);
    if (directory.entry(entry).in_sets) resolve_conflicts(request, entry, false);
  } else {
    entry = allocate_entry(request, cpu);
    if (entry == kNoSlot) return aborted_by(request, cpu, HardwareAbort::kCapacity);
    ++cpu.counts.l3_misses;
  }
  ++cpu.counts.l2_misses;
  LineTransfer transfer = share(request, cpu, entry, vary_latency(fetch_cycles(cpu, line, entry, in_l3)));
  transfer.latency_cycles += wait_for_link(cpu, line, now, in_l3);
  const std::uint64_t ready =
      std::max(now, earliest) + core.tlb.translate_code(line) + transfer.latency_cycles;
  const std::uint64_t hot = note_transfer(request, entry, transfer);
  note_flight(cpu, entry, transfer, in_l3, now, ready);
  // Data may lie beside code, and a sibling may have the line.
  const std::uint32_t l1_slot = core.l1.find(line), l2_slot = core.l2.find(line);
  std::uint64_t permissions = cpu.mine(kReadable) | (transfer.exclusive ? cpu.mine(kWritable) : 0);
  if (l1_slot != kNoSlot) permissions |= core.l1.state(l1_slot).flags & kPermissions;
  if (l2_slot != kNoSlot) permissions |= core.l2.state(l2_slot).flags & kPermissions;
  if (l1_slot != kNoSlot) core.l1.state(l1_slot).flags |= permissions;
  if (l2_slot != kNoSlot) {
    core.l2.state(l2_slot).flags |= permissions;
  } else {
    insert_into_l2(core, line, WayState{ready, permissions & 0xffff, hot, 0, 0});
  }
  const std::uint64_t clock = fill_l1i(cpu, line, now, ready);
  if (line.value % (1u << Tlb::kPageShift) != (1u << Tlb::kPageShift) - 1)
    prefetch(cpu, LineAddr(line.value + 1), now, now, false);
  Reply reply = done(clock, clock);
  reply.performed = request.now;
  return reply;
}

std::uint64_t InstructionFetch::fill_l1i(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t ready) {
  Core& core = *cpu.core;
  ++cpu.counts.l1i_misses;
  const std::uint32_t slot = core.l1i.choose_victim(core.l1i.set_of(line));
  if (!core.l1i.empty(slot)) forget_code(core, core.l1i.line(slot));
  core.l1i.put(slot, line, WayState{ready, 0, 0, 0, 0});
  cpu.filter->open_code(line);
  return stall(cpu, now, ready);
}

/// The pipeline hides the latency of an L1I hit.
std::uint64_t InstructionFetch::stall(Cpu& cpu, std::uint64_t now, std::uint64_t ready) {
  const std::uint64_t hidden = description.l1i.latency_cycles;
  const std::uint64_t clock = ready > now + hidden ? ready - hidden : now;
  cpu.load_misses.idle(clock - now);
  cpu.counts.fetch_stall_cycles += clock - now;
  return clock;
}

}  // namespace elision::machine
