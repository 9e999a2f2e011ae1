// SPDX-License-Identifier: Apache-2.0
// An access that needs the directory: the CPU lacks the line or the permission.
//
// Order: wait while the line is on its way to another CPU; abort the transactions that the access conflicts
// with (requester wins); make room; take the permission from those who have it; then time. Nothing before
// "make room" changes the requester's caches. A requester whose own transaction aborts there has therefore
// not performed the access.
#include <algorithm>

#include "machine/access.h"
#include "machine/replies.h"

namespace elision::machine {
namespace {

/// `slot`, which held the line earlier, if it still does.
std::uint32_t if_still_there(const PrivateCache& cache, std::uint32_t slot, LineAddr line) {
  return slot != kNoSlot && cache.holds(slot, line) ? slot : kNoSlot;
}

}  // namespace

Reply Access::coherent_access(const Request& request, Cpu& cpu, std::uint32_t l1_slot,
                              std::uint32_t l2_slot) {
  Core& core = *cpu.core;
  const bool load = request.kind == AccessKind::kLoad;
  std::uint64_t earliest = 0;
  std::uint32_t entry = directory.use(request.line);
  const bool in_l3 = entry != kNoSlot;
  if (in_l3) {
    Directory::Entry& line = directory.entry(entry);
    if (must_wait(request, cpu, entry, earliest)) return wait_until(earliest, true);
    if (line.busy_until <= request.now.value) line.shared_flight = 0;
    if (line.in_sets) resolve_conflicts(request, entry);
  } else {
    entry = allocate_entry(request, cpu);
  }
  if (!load && !read_filters_in_use.empty()) resolve_false_conflicts(request);
  // Each step above may have dropped a copy that the core's threads share.
  std::uint32_t slot = if_still_there(core.l1, l1_slot, request.line);
  const bool in_l1 = slot != kNoSlot;
  if (!in_l1 && entry != kNoSlot) slot = make_room_in_l1(request, cpu);
  if (entry == kNoSlot || slot == kNoSlot) return aborted_for_room(request, cpu);
  // The line that left L1 to make room may have evicted this one from L2, and a sibling's abort may have put
  // it there.
  l2_slot =
      core.thread_count > 1 ? core.l2.find(request.line) : if_still_there(core.l2, l2_slot, request.line);
  const bool local = in_l1 || l2_slot != kNoSlot;
  if (!in_l1) {
    ++cpu.counts.l1_misses;
    const WayState lower = l2_slot != kNoSlot ? core.l2.state(l2_slot) : WayState{};
    const WayState fresh = lower.with_flags(lower.flags & (kPermissions | kDirty));
    core.l1.put(slot, request.line, fresh);
    if (!local) l2_slot = insert_into_l2(core, request.line, fresh);
  } else {
    forget_in_filters(core, request.line, slot);
  }
  if (!local) ++cpu.counts.l2_misses;
  if (!in_l3) ++cpu.counts.l3_misses;

  const std::uint64_t nearest = in_l1   ? description.l1d.latency_cycles
                                : local ? description.l2.latency_cycles
                                        : vary_latency(fetch_cycles(cpu, request.line, entry, in_l3));
  const LineTransfer transfer =
      load ? share(request, cpu, entry, nearest) : own(request, cpu, entry, nearest, local, slot, l2_slot);
  const std::uint64_t hot = note_transfer(request, entry, transfer);

  // A sibling's copy in L1 costs nothing beyond the hit. It takes no fill buffer and no request for
  // ownership.
  const bool instant = in_l1 && transfer.latency_cycles == description.l1d.latency_cycles;
  const std::uint64_t address_there =
      request.address_ready > request.now ? request.address_ready.value + description.l1d.latency_cycles : 0;
  const std::uint64_t here =
      instant ? std::max<std::uint64_t>({request.now.value, core.l1.state(slot).arrival, address_there})
              : arrival_of_miss(request, cpu, earliest, transfer.latency_cycles);
  const std::uint16_t permission =
      static_cast<std::uint16_t>(cpu.mine(kReadable) | (transfer.exclusive ? cpu.mine(kWritable) : 0));
  const auto grant = [&](WayState& state, std::uint16_t more) {
    const WayState granted{here, state.flags, hot, 0, 0};
    state = granted.with_flags((state.flags & ~kPrefetched) | permission | more);
  };
  grant(core.l1.state(slot), transfer.dirty ? kDirty : 0);
  core.l1.mark_used(slot);
  if (l2_slot != kNoSlot) {
    grant(core.l2.state(l2_slot), 0);
    core.l2.mark_used(l2_slot);
  }
  if (!instant) note_flight(cpu, entry, transfer, load && in_l3, request.now.value, here);
  const Reply reply = complete(request, cpu, slot, entry, here);
  if (load && !in_l1) prefetch_after(request, cpu, !local);
  return reply;
}

}  // namespace elision::machine
