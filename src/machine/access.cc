// SPDX-License-Identifier: Apache-2.0
// An access: how far it reaches, what it must wait for before it may happen, the hits in L1 and L2, and the
// end that all accesses share. L1 and L2 are each looked up at most once.
//
// Time: `clock` is the CPU's clock, on which the translator has charged the work of every instruction as if
// it hit L1. `data_ready` is when a loaded value can be used, the full latency counted from the later of
// `now` and the address: two dependent loads that hit L2 are 12 cycles apart. Where the core itself waits
// for a line (an atomic), L1's latency is taken off, because the instruction's static cost contains it.
#include "machine/access.h"

#include <algorithm>

#include "machine/fast_path.h"
#include "machine/replies.h"

namespace elision::machine {

Reply Access::access(const Request& request) {
  Cpu& cpu = cpus[request.cpu.value];
  Lookup found;
  if (request.least != Reach::kMachine && request.kind != AccessKind::kAtomic) {
    const bool store = request.kind == AccessKind::kStore;
    FilterEntry& entry = cpu.filter->at(request.line);
    const std::uint64_t restrictions = cpu.filter->restrictions(request.line);
    if (!(restrictions & ~FilterEntry::tolerated(store, true))) {
      entry.used = 1;
      return done(request.now.value, 0, Reach::kL1);
    }
    found.l1_slot = restrictions & Filter::kNotOpen ? cpu.core->l1.find(request.line) : entry.l1_slot();
    if (hits_l1_locally(request, cpu, found.l1_slot)) return hit_l1_locally(request, cpu, found.l1_slot);
    if (request.most != Reach::kL1 && stays_in_core(request, cpu, found)) {
      Request local = request;
      local.first_until = kNever;
      Reply reply = perform(local, cpu, found);
      reply.reach = Reach::kCore;
      return reply;
    }
  }
  return request.most == Reach::kMachine ? perform(request, cpu, found) : needs_order(request.now);
}

/// L1 has the line in `slot` with the permission, the line is not hot, and inside a transaction it already
/// belongs to the set that the access needs.
[[gnu::always_inline]] inline bool Access::hits_l1_locally(const Request& request, const Cpu& cpu,
                                                           std::uint32_t slot) const {
  if (slot == kNoSlot) return false;
  const bool store = request.kind == AccessKind::kStore;
  const WayState& state = cpu.core->l1.state(slot);
  if (!(state.flags & cpu.mine(store ? kWritable : kReadable))) return false;
  if (state.flags & kPrefetched) return false;  // its first use may make others be fetched
  if (cpu.transaction.active) {
    const std::uint16_t sets = cpu.mine(store ? kTransactionWritten : kTransactionRead | kTransactionWritten);
    if (!(state.flags & sets)) return false;
  }
  // A hot line in the sets may be used without order all the same: whoever takes it away aborts the
  // transaction, and the abort undoes what ran ahead.
  return request.now.value >= state.hot_until || conflicts_end(cpu);
}

/// Costs nothing beyond the L1 hit that the static cost of the instruction contains; a line still in flight
/// delays the value.
[[gnu::always_inline]] inline Reply Access::hit_l1_locally(const Request& request, Cpu& cpu,
                                                           std::uint32_t slot) {
  const bool store = request.kind == AccessKind::kStore;
  WayState& state = cpu.core->l1.state(slot);
  cpu.core->l1.mark_used(slot);
  if (store && !(state.flags & kDirty)) state.flags |= kDirty;
  const std::uint64_t arrival = request.now.value < state.arrival ? std::uint64_t{state.arrival} : 0;
  if (store && arrival != 0) cpu.stores.pass(arrival);
  open_to_filter(request, cpu, slot);
  return done(request.now.value, arrival, Reach::kL1);
}

/// L2 has the line with the permission, or L1 has it and this is the first use since it was prefetched; it is
/// not hot; and prefetches that follow stay within the core. Not in a transaction, whose sets others look at,
/// nor beside one of the sibling, which might lose a line.
bool Access::stays_in_core(const Request& request, const Cpu& cpu, Lookup& found) const {
  const Core& core = *cpu.core;
  for (unsigned i = 0; i < core.thread_count; ++i)
    if (core.threads[i]->transaction.active) return false;
  const bool in_l1 = found.l1_slot != kNoSlot;
  if (!in_l1) {
    found.l2_slot = core.l2.find(request.line);
    if (found.l2_slot == kNoSlot) return false;
  }
  const WayState& state = in_l1 ? core.l1.state(found.l1_slot) : core.l2.state(found.l2_slot);
  const bool load = request.kind == AccessKind::kLoad;
  if (!(state.flags & cpu.mine(load ? kReadable : kWritable)) || request.now.value < state.hot_until)
    return false;
  return !load || !prefetches_leave_core(request, cpu);
}

/// The line, in L1 slot `slot`, may be used from now on without asking, as far as `request` has come: it has
/// the permission, and inside a transaction the line is in the set that the access needs.
[[gnu::always_inline]] inline void Access::open_to_filter(const Request& request, Cpu& cpu,
                                                          std::uint32_t slot) {
  const WayState& state = cpu.core->l1.state(slot);
  if (!request.open || (request.now.value < state.hot_until && !conflicts_end(cpu))) return;
  // Only a line that was written already is open to stores, so that "modified" is never missed; and one that
  // is on its way only behind a store, whose drain those that follow share.
  const bool in_flight = request.now.value < state.arrival;
  const std::uint16_t write_bits =
      static_cast<std::uint16_t>(kDirty | cpu.mine(cpu.transaction.active ? kTransactionWritten : kWritable));
  const bool writable =
      (state.flags & write_bits) == write_bits && (!in_flight || request.kind == AccessKind::kStore);
  fast_path::remember(*cpu.filter, cpu.core->l1, request.line, slot,
                      (writable ? 0 : FilterEntry::kNoStore) | (in_flight ? FilterEntry::kInFlight : 0),
                      state.arrival);
}

/// The access itself, after the stalls of the CPU's own. `found` holds the look-ups that were made already.
Reply Access::perform(Request request, Cpu& cpu, Lookup found) {
  request.now = std::max(request.now, request.charged);
  while (const std::uint64_t until = stalled_until(request, cpu)) {
    if (until >= request.first_until.value) return wait_until(until);
    request.now = Cycles(until);
  }

  const std::uint16_t needed = cpu.mine(request.kind == AccessKind::kLoad ? kReadable : kWritable);
  Core& core = *cpu.core;
  if (found.l1_slot == Lookup::kNotSought) found.l1_slot = core.l1.find(request.line);
  const bool in_l1 = found.l1_slot != kNoSlot;
  if (in_l1 && (core.l1.state(found.l1_slot).flags & needed)) return hit_l1(request, cpu, found.l1_slot);

  if (!in_l1) request.address_ready = std::max(request.address_ready, translate(request, cpu));
  if (request.kind == AccessKind::kLoad) {
    // No buffer free: the core stops. (A load without address yet takes its fill buffer later.)
    for (;;) {
      const std::uint64_t issue = cpu.load_misses.issue_time(request.now.value, request.address_ready.value);
      if (issue <= request.now.value) break;
      cpu.counts.reorder_buffer_stall_cycles += issue - request.now.value;
      cpu.load_misses.idle(issue - request.now.value);
      if (issue >= request.first_until.value) return wait_until(issue);
      request.now = Cycles(issue);
    }
  }
  if (found.l2_slot == Lookup::kNotSought) found.l2_slot = core.l2.find(request.line);
  if (!in_l1 && found.l2_slot != kNoSlot && (core.l2.state(found.l2_slot).flags & needed))
    return hit_l2(request, cpu, found.l2_slot);
  return coherent_access(request, cpu, found.l1_slot, found.l2_slot);
}

/// When the CPU has to come back, for a reason within itself; 0 if it need not. Until then others may come
/// first, so that the access itself happens in order.
[[gnu::always_inline]] inline std::uint64_t Access::stalled_until(const Request& request, Cpu& cpu) {
  const std::uint64_t now = request.now.value;
  const std::uint64_t worked = cpu.load_misses.advance(now);
  if (worked > now) {
    cpu.counts.reorder_buffer_stall_cycles += worked - now;
    return worked;
  }
  if (request.kind == AccessKind::kLoad) return 0;

  std::uint64_t free = cpu.stores.entry_time(now);
  if (request.kind == AccessKind::kAtomic) {
    // Executes when all before it is done: loads finished, stores visible (SDM Vol. 3A, 8.2.3.9 and 8.2.5).
    free = std::max({now, cpu.stores.drained(), cpu.load_misses.all_ready(now)});
  }
  if (free == now) return 0;
  cpu.counts.store_buffer_stall_cycles += free - now;
  cpu.load_misses.idle(free - now);
  return free;
}

/// When the address of an access that L1 does not settle is translated; 0 if that takes no time. It delays
/// the access like an address that is not yet known, so that other work goes on meanwhile.
[[gnu::always_inline]] inline Cycles Access::translate(const Request& request, Cpu& cpu) {
  const std::uint32_t cycles = cpu.core->tlb.translate(request.line, huge_pages);
  const std::uint64_t page = request.line.value >> Tlb::kPageShift;
  if (cycles == 0) {
    const bool just_now = page == cpu.walked_page && cpu.walk_ready > request.now.value;
    return just_now ? Cycles(cpu.walk_ready) : Cycles(0);
  }
  ++cpu.counts.tlb_misses;
  if (cycles > description.tlb.shared_latency_cycles) ++cpu.counts.page_walks;
  cpu.walked_page = page;
  cpu.walk_ready = std::max(request.now.value, request.address_ready.value) + cycles;
  return Cycles(cpu.walk_ready);
}

Reply Access::hit_l1(const Request& request, Cpu& cpu, std::uint32_t slot) {
  WayState& state = cpu.core->l1.state(slot);
  cpu.core->l1.mark_used(slot);
  std::uint64_t ready = std::max(request.now.value, state.arrival);
  if (request.address_ready > request.now) {
    ready = std::max(ready, request.address_ready.value + description.l1d.latency_cycles);
  }
  const bool prefetched = state.flags & kPrefetched;
  state.flags = static_cast<std::uint16_t>(state.flags & ~kPrefetched);
  const Reply reply = complete(request, cpu, slot, kNoSlot, ready);
  if (prefetched && request.kind == AccessKind::kLoad) prefetch_after(request, cpu, false);
  return reply;
}

[[gnu::always_inline]] inline Reply Access::hit_l2(const Request& request, Cpu& cpu, std::uint32_t l2_slot) {
  Core& core = *cpu.core;
  const WayState old = core.l2.state(l2_slot);
  core.l2.mark_used(l2_slot);
  const std::uint32_t slot = make_room_in_l1(request, cpu);
  if (slot == kNoSlot) return aborted_for_room(request, cpu);
  ++cpu.counts.l1_misses;
  const std::uint64_t arrival = arrival_of_miss(request, cpu, 0, description.l2.latency_cycles);
  // "Dirty" moves up with the line, so that a write-back on eviction does not lose it.
  const std::uint64_t ready = std::max<std::uint64_t>(old.arrival, arrival);
  core.l1.put(slot, request.line, old.moved(ready, old.flags & (kPermissions | kDirty)));
  const Reply reply = complete(request, cpu, slot, kNoSlot, ready);
  if (request.kind == AccessKind::kLoad) prefetch_after(request, cpu, false);
  return reply;
}

/// When a line that has to be fetched, with `latency`, from `earliest` on, is in L1.
[[gnu::always_inline]] inline std::uint64_t Access::arrival_of_miss(const Request& request, Cpu& cpu,
                                                                    std::uint64_t earliest,
                                                                    std::uint64_t latency) {
  const std::uint64_t start = std::max({request.now.value, request.address_ready.value, earliest});
  if (request.kind == AccessKind::kLoad) return cpu.load_misses.issue(request.now.value, start, latency);
  if (request.kind == AccessKind::kAtomic) return start + latency;
  const std::uint64_t arrival = cpu.stores.request_time(start) + latency;
  cpu.stores.requested(arrival);
  return arrival;
}

/// The line is in L1 slot `slot` with the permission that the access needs, its data there at `ready`.
/// `entry` is its place in the directory, or kNoSlot if nobody looked.
[[gnu::always_inline]] inline Reply Access::complete(const Request& request, Cpu& cpu, std::uint32_t slot,
                                                     std::uint32_t entry, std::uint64_t ready) {
  const std::uint64_t now = request.now.value;
  Reply reply = done(now, now);
  reply.performed = request.now;
  const bool write = request.kind != AccessKind::kLoad;
  if (cpu.transaction.active)
    reply.first_write_in_transaction = join_sets(cpu, request.line, slot, entry, write);

  if (!write) {
    ++cpu.counts.loads_slow;
    reply.data_ready = Cycles(ready);
    open_to_filter(request, cpu, slot);
    return reply;
  }
  cpu.core->l1.state(slot).flags |= kDirty;
  std::uint64_t busy_until = ready;
  if (request.kind == AccessKind::kStore) {
    ++cpu.counts.stores_slow;
    busy_until = cpu.stores.push(now, ready);
  } else {
    ++cpu.counts.atomics;
    const std::uint64_t clock =
        ready > now + description.l1d.latency_cycles ? ready - description.l1d.latency_cycles : now;
    reply.clock = reply.data_ready = Cycles(clock);
  }
  if (busy_until > now) {
    // Others see the store when it drains: until then they wait for the line.
    if (entry != kNoSlot) {
      directory.entry(entry).note_store(cpu.id, busy_until);
    } else {
      cpu.core->l1.state(slot).note_store(now, busy_until);
    }
  }
  if (request.kind == AccessKind::kStore) open_to_filter(request, cpu, slot);
  return reply;
}

}  // namespace elision::machine
