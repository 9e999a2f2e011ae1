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
  std::uint64_t earliest = 0;
  Place place{.entry = directory.use(request.line), .l1_slot = l1_slot, .l2_slot = l2_slot};
  place.in_l3 = place.entry != kNoSlot;
  if (Cpu* owner = place.in_l3 ? hides(request, cpu, place.entry) : nullptr) {
    if (const std::uint64_t there = travel(request, cpu, place.entry)) return wait_until(there);
    return load_old(request, cpu, place.entry, *owner);
  }
  if (place.in_l3 && must_wait(request, cpu, place.entry, earliest)) return wait_until(earliest, true);
  if (const std::uint64_t there = travel(request, cpu, place.entry)) return wait_until(there);
  // A fetch that began while the core waited began no sooner than the line had arrived where it was last.
  if (place.in_l3)
    earliest = std::max(earliest,
                        std::min<std::uint64_t>(directory.entry(place.entry).busy_until, request.now.value));
  place.takes = takes_line(request, cpu, place.entry);
  if (!make_room(request, cpu, place)) return aborted_by(request, cpu, HardwareAbort::kCapacity);
  std::uint64_t hot_until;
  LineTransfer transfer = transfer_line(request, cpu, place, hot_until);
  transfer.latency_cycles -= std::min(transfer.latency_cycles, time_on_the_way(request, cpu));
  // A sibling's copy in L1 costs nothing beyond the hit. It takes no fill buffer and no request for
  // ownership.
  const bool instant = place.in_l1 && transfer.latency_cycles == description.l1d.latency_cycles;
  const std::uint64_t arrival = instant ? arrival_of_hit(request, cpu.core->l1.state(place.l1_slot))
                                        : arrival_of_miss(request, cpu, earliest, transfer.latency_cycles);
  grant(cpu, place, transfer, arrival, hot_until);
  const bool to_readers = request.kind == AccessKind::kLoad && place.in_l3;
  if (!instant) note_flight(cpu, place.entry, transfer, to_readers, request.now.value, arrival);
  const Reply reply = complete(request, cpu, place.l1_slot, place.entry, arrival);
  if (!place.in_l1) prefetch_after(request, cpu, !place.in_core);
  return reply;
}

/// Takes the line from the other CPUs that have it, as far as the access needs, and puts it into the core.
/// The transfer's latency is the whole one. `hot_until`: see note_transfer().
[[gnu::always_inline]] inline LineTransfer Access::transfer_line(const Request& request, Cpu& cpu,
                                                                 Place& place, std::uint64_t& hot_until) {
  put_into_room(request, cpu, place);
  const std::uint64_t nearest = place.in_l1 ? description.l1d.latency_cycles
                                : place.in_core
                                    ? description.l2.latency_cycles
                                    : vary_latency(fetch_cycles(cpu, request.line, place.entry, place.in_l3));
  LineTransfer transfer =
      place.takes ? own(request, cpu, place.entry, nearest, place.in_core, place.l1_slot, place.l2_slot)
                  : share(request, cpu, place.entry, nearest);
  if (request.kind == AccessKind::kLoad) transfer.dirty = false;  // the last level has the data, too
  hot_until = note_transfer(request, place.entry, transfer);
  if (!place.in_core || transfer.from_owner)
    transfer.latency_cycles += wait_for_link(cpu, request.line, request.now.value, place.in_l3);
  return transfer;
}

/// A load that finds the value from before a store of `owner`.
Reply Access::load_old(const Request& request, Cpu& cpu, std::uint32_t entry, Cpu& owner) {
  const std::uint64_t latency = pass_unseen_store(request, cpu, entry, owner);
  Reply reply = done(request.now.value, arrival_of_miss(request, cpu, 0, latency));
  reply.performed = request.now;
  reply.hidden_by = static_cast<std::uint16_t>(owner.id);
  return reply;
}

/// Ends the transactions that conflict, and empties a directory entry and an L1 slot if the line needs them.
/// False if that would evict a line that the requester's own transaction needs.
[[gnu::always_inline]] inline bool Access::make_room(const Request& request, Cpu& cpu, Place& place) {
  Core& core = *cpu.core;
  if (place.in_l3) {
    Directory::Entry& line = directory.entry(place.entry);
    if (line.busy_until <= request.now.value) line.shared_flight = 0;
    if (line.in_sets) {
      resolve_conflicts(request, place.entry, place.takes);
      place.takes = takes_line(request, cpu, place.entry);  // what a transaction had written is undone
    }
  } else {
    place.entry = allocate_entry(request, cpu);
  }
  if (place.takes && !read_filters_in_use.empty()) resolve_false_conflicts(request);
  // Each step above may have dropped a copy that the core's threads share.
  place.l1_slot = if_still_there(core.l1, place.l1_slot, request.line);
  place.in_l1 = place.l1_slot != kNoSlot;
  if (!place.in_l1 && place.entry != kNoSlot) place.l1_slot = make_room_in_l1(request, cpu);
  if (place.entry == kNoSlot || place.l1_slot == kNoSlot) return false;
  // The line that left L1 to make room may have evicted this one from L2, and a sibling's abort may have put
  // it there.
  place.l2_slot = core.thread_count > 1 ? core.l2.find(request.line)
                                        : if_still_there(core.l2, place.l2_slot, request.line);
  place.in_core = place.in_l1 || place.l2_slot != kNoSlot;
  return true;
}

/// Puts the line into L1 and L2, still without the permission that the access needs.
[[gnu::always_inline]] inline void Access::put_into_room(const Request& request, Cpu& cpu, Place& place) {
  Core& core = *cpu.core;
  if (place.in_l1) {
    forget_in_filters(core, request.line, place.l1_slot);
  } else {
    ++cpu.counts.l1_misses;
    const WayState lower = place.l2_slot != kNoSlot ? core.l2.state(place.l2_slot) : WayState{};
    const WayState fresh = lower.with_flags(lower.flags & (kPermissions | kDirty));
    if (!place.in_core) place.l2_slot = insert_into_l2(core, request.line, fresh);
    core.l1.put(place.l1_slot, request.line,
                fresh.with_flags(fresh.flags | PrivateCache::way_hint(place.l2_slot)));
  }
  if (!place.in_core) ++cpu.counts.l2_misses;
  if (!place.in_l3) ++cpu.counts.l3_misses;
}

/// Gives the CPU the permission of `transfer`, in L1 and in L2.
[[gnu::always_inline]] inline void Access::grant(Cpu& cpu, const Place& place, const LineTransfer& transfer,
                                                 std::uint64_t arrival, std::uint64_t hot_until) {
  Core& core = *cpu.core;
  const std::uint16_t permission =
      static_cast<std::uint16_t>(cpu.mine(kReadable) | (transfer.exclusive ? cpu.mine(kWritable) : 0));
  const auto grant_in = [&](WayState& state, std::uint16_t more) {
    const WayState granted{arrival, state.flags, hot_until, 0, 0};
    state = granted.with_flags((state.flags & ~kPrefetched) | permission | more);
  };
  grant_in(core.l1.state(place.l1_slot), transfer.dirty ? kDirty : 0);
  core.l1.mark_used(place.l1_slot);
  if (place.l2_slot == kNoSlot) return;
  grant_in(core.l2.state(place.l2_slot), 0);
  core.l2.mark_used(place.l2_slot);
}

}  // namespace elision::machine
