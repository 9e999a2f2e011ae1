// SPDX-License-Identifier: Apache-2.0
// Instruction fetch: L1I and what is behind it.
//
// A fetch that misses stops the core: there is nothing to execute. L1I is filled through L2, and a miss there
// brings the next line to L2 as well, because code is mostly fetched in order. Replacement is first in, first
// out, and a line that was fetched is in no read set. The CPU's filter (filter.h) knows lines that L1I has,
// so that translated blocks need not ask.
#include "machine/internals.h"

namespace elision::machine {

Reply Model::Impl::fetch(Cpu& one, LineAddr line, std::uint64_t now, Reach most) {
  std::uint64_t clock = now;
  if (fetch_within_core(one, line, now, clock)) return done(clock, clock, Reach::kCore);
  return most == Reach::kMachine ? fetch_in_order(one, line, now) : needs_order(Cycles(now));
}

/// True if L1I or the core's L2 has the line; then the clock at which it is fetched.
bool Model::Impl::fetch_within_core(Cpu& one, LineAddr line, std::uint64_t now, std::uint64_t& clock) {
  Core& home = *one.home;
  if (const std::uint32_t slot = home.l1i.find(line); slot != kNoSlot) {
    clock = stand_still(one, now, home.l1i.state(slot).arrival);  // a sibling may have asked for it
    one.filter->open_code(line);
    return true;
  }
  const std::uint32_t l2_slot = home.l2.find(line);
  if (l2_slot == kNoSlot || !(home.l2.state(l2_slot).flags & one.mine(kReadable))) return false;
  home.l2.mark_used(l2_slot);
  const std::uint64_t ready = std::max<std::uint64_t>(
      home.l2.state(l2_slot).arrival, now + home.tlb.translate_code(line) + description.l2.latency_cycles);
  clock = fetched(one, line, now, ready);
  return true;
}

/// A fetch that others can notice.
Reply Model::Impl::fetch_in_order(Cpu& one, LineAddr line, std::uint64_t now) {
  const Request request{CpuId(one.id), line, AccessKind::kLoad, Cycles(now), Cycles(0)};
  Core& home = *one.home;
  std::uint32_t entry = directory.use(line);
  const bool in_l3 = entry != kNoSlot;
  std::uint64_t earliest = now;
  if (in_l3) {
    if (must_wait(request, one, entry, earliest)) return wait_until(earliest);
    if (directory.entry(entry).in_sets) resolve_conflicts(request, entry);
  } else {
    entry = allocate_entry(request, one);
    if (entry == kNoSlot) return aborted_for_room(request, one);
    ++one.counts.l3_misses;
  }
  ++one.counts.l2_misses;
  const LineTransfer transfer =
      share(request, one, entry, vary_latency(fetch_cycles(one, line, entry, in_l3)));
  const std::uint64_t ready =
      std::max(now, earliest) + home.tlb.translate_code(line) + transfer.latency_cycles;
  const std::uint64_t hot = note_transfer(request, entry, transfer);
  note_flight(one, entry, transfer, in_l3, now, ready);
  // Data may lie beside code, and a sibling may have the line.
  const std::uint32_t l1_slot = home.l1.find(line), l2_slot = home.l2.find(line);
  std::uint64_t permissions = one.mine(kReadable) | (transfer.exclusive ? one.mine(kWritable) : 0);
  if (l1_slot != kNoSlot) permissions |= home.l1.state(l1_slot).flags & kPermissions;
  if (l2_slot != kNoSlot) permissions |= home.l2.state(l2_slot).flags & kPermissions;
  if (l1_slot != kNoSlot) home.l1.state(l1_slot).flags |= permissions;
  if (l2_slot != kNoSlot) {
    home.l2.state(l2_slot).flags |= permissions;
  } else {
    insert_into_l2(home, line, WayState{ready, permissions & 0xffff, hot, 0, 0});
  }
  const std::uint64_t clock = fetched(one, line, now, ready);
  if (line.value % (1u << Tlb::kPageShift) != (1u << Tlb::kPageShift) - 1)
    fetch_early(one, LineAddr(line.value + 1), now, now, false);
  Reply reply = done(clock, clock);
  reply.performed = request.now;
  return reply;
}

/// The line comes into L1I at `ready`; returns the clock. An L1 hit's part is hidden by the pipeline.
std::uint64_t Model::Impl::fetched(Cpu& one, LineAddr line, std::uint64_t now, std::uint64_t ready) {
  Core& home = *one.home;
  ++one.counts.l1i_misses;
  const std::uint32_t slot = home.l1i.choose_victim(home.l1i.set_of(line));
  if (!home.l1i.empty(slot)) forget_code(home, home.l1i.line(slot));
  home.l1i.put(slot, line, WayState{ready, 0, 0, 0, 0});
  one.filter->open_code(line);
  return stand_still(one, now, ready);
}

/// The CPU has nothing to execute until the line is there; returns its clock then.
std::uint64_t Model::Impl::stand_still(Cpu& one, std::uint64_t now, std::uint64_t ready) {
  const std::uint64_t hidden = description.l1i.latency_cycles;
  const std::uint64_t clock = ready > now + hidden ? ready - hidden : now;
  one.load_misses.idle(clock - now);
  one.counts.fetch_stall_cycles += clock - now;
  return clock;
}

void Model::Impl::forget_code(Core& home, LineAddr line) {
  for_each_thread(home, [&](Cpu& one) { one.filter->close_code(line); });
}

/// The core loses its copy of a line of code, if it has one.
void Model::Impl::drop_code(Core& home, LineAddr line) {
  const std::uint32_t slot = home.l1i.find(line);
  if (slot == kNoSlot) return;
  forget_code(home, line);
  home.l1i.remove(slot);
}

}  // namespace elision::machine
