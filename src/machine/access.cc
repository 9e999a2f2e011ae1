// SPDX-License-Identifier: Apache-2.0
// An access: how far it reaches, what it must wait for, the hits in L1 and L2, and the end of every access.
// L1 and L2 are each looked up at most once.
//
// Time: the translator has charged the work of every instruction to the CPU's `clock`, as if each access hit
// L1. `data_ready` is when the loaded value can be used: the full latency after the later of `now` and the
// arrival of the address, so that two dependent loads that hit L2 are 12 cycles apart. If the core itself
// waits for a line (an atomic), the wait is shorter by L1's latency, because the instruction's static cost
// contains it.
#include "machine/access.h"

#include <algorithm>

#include "machine/fast_path.h"
#include "machine/replies.h"

namespace elision::machine {

Reply Access::access(Request request) {
  Cpu& cpu = cpus[request.cpu.value];
  Lookup found;
  LocalPrefetches plan;
  if (request.least != Reach::kMachine && request.kind != AccessKind::kAtomic) {
    const bool named = !(cpu.filter->restrictions(request.line) & Filter::kNotOpen);
    found.l1_slot = named ? cpu.filter->at(request.line).l1_slot() : cpu.core->l1.find(request.line);
    if (hits_l1_locally(request, cpu, found.l1_slot)) return hit_l1_locally(request, cpu, found.l1_slot);
    if (request.most != Reach::kL1 && stays_in_core(request, cpu, found, plan))
      return perform<Reach::kCore>(request, cpu, found, plan);
  }
  return request.most == Reach::kMachine ? perform<Reach::kMachine>(request, cpu, found, plan)
                                         : needs_order(request.now);
}

/// L1 has the line in `slot` with the permission, the line is not hot, and inside a transaction it is already
/// in the set that the access needs.
[[gnu::always_inline]] inline bool Access::hits_l1_locally(const Request& request, const Cpu& cpu,
                                                           std::uint32_t slot) const {
  if (slot == kNoSlot) return false;
  const bool store = request.kind == AccessKind::kStore;
  const WayState& state = cpu.core->l1.state(slot);
  if (!(state.flags & cpu.mine(store ? kWritable : kReadable))) return false;
  if (state.flags & kPrefetched) return false;  // its first use may cause prefetches
  if (cpu.transaction.active) {
    const std::uint16_t sets = cpu.mine(store ? kTransactionWritten : kTransactionRead | kTransactionWritten);
    if (!(state.flags & sets)) return false;
  }
  // A hot line in the sets needs no order: a CPU that takes it aborts the transaction, and the abort undoes
  // the access.
  return request.now.value >= state.hot_until || every_conflict_ends(cpu);
}

/// Costs nothing beyond the L1 hit, which the static cost of the instruction contains. A line in flight
/// delays the loaded value.
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

/// True if L2 has the line with the permission, or if L1 has it and this is its first use after a prefetch;
/// and the line is not hot; and the prefetches that follow stay within the core. False in a transaction,
/// because other CPUs read its sets, and while the sibling is in one, because that might lose a line.
[[gnu::always_inline]] inline bool Access::stays_in_core(const Request& request, const Cpu& cpu,
                                                         Lookup& found, LocalPrefetches& plan) const {
  const Core& core = *cpu.core;
  for (unsigned i = 0; i < core.thread_count; ++i)
    if (core.threads[i]->transaction.active) return false;
  const bool in_l1 = found.l1_slot != kNoSlot;
  if (!in_l1) {
    directory.prefetch_set(request.line);
    found.l2_slot = core.l2.find(request.line);
    if (found.l2_slot == kNoSlot) return false;
  }
  const WayState& state = in_l1 ? core.l1.state(found.l1_slot) : core.l2.state(found.l2_slot);
  const bool load = request.kind == AccessKind::kLoad;
  if (!(state.flags & cpu.mine(load ? kReadable : kWritable)) || request.now.value < state.hot_until)
    return false;
  const bool prefetches = load || !in_l1;
  return !prefetches || plan_prefetches(request, cpu, plan);
}

/// Puts the line, in L1 slot `slot`, into the CPU's filter. The CPU has the permission, and inside a
/// transaction the line is in the set that the access needs.
[[gnu::always_inline]] inline void Access::open_to_filter(const Request& request, Cpu& cpu,
                                                          std::uint32_t slot) {
  const WayState& state = cpu.core->l1.state(slot);
  if (!request.open || (request.now.value < state.hot_until && !every_conflict_ends(cpu))) return;
  // Open to stores only if the line is already dirty, so that the model sees the first store. If the line is
  // in flight, open to stores only after a store: later stores drain together with that one.
  const bool in_flight = request.now.value < state.arrival;
  const std::uint16_t write_bits =
      static_cast<std::uint16_t>(kDirty | cpu.mine(cpu.transaction.active ? kTransactionWritten : kWritable));
  const bool writable =
      (state.flags & write_bits) == write_bits && (!in_flight || request.kind == AccessKind::kStore);
  fast_path::remember(*cpu.filter, cpu.core->l1, request.line, slot,
                      (writable ? 0 : FilterEntry::kNoStore) | (in_flight ? FilterEntry::kInFlight : 0),
                      state.arrival);
}

/// The access itself, after the CPU's own stalls. `reach` is how far it may reach. An access that stays in
/// the core (stays_in_core) carries out `plan`, and needs no order for its stalls.
template <Reach reach>
[[gnu::always_inline]] inline Reply Access::perform(Request& request, Cpu& cpu, Lookup& found,
                                                    const LocalPrefetches& plan) {
  constexpr bool kLocal = reach == Reach::kCore;
  const auto waits = [&](std::uint64_t until) { return !kLocal && until >= request.first_until.value; };
  const auto follow_up = [&] {
    if constexpr (kLocal) {
      prefetch_as_planned(request, cpu, plan);
    } else {
      prefetch_after(request, cpu, false);
    }
  };
  request.now = std::max(request.now, request.charged);
  const bool atomic = !kLocal && request.kind == AccessKind::kAtomic;
  if (atomic) note_atomic(request, cpu);
  if (atomic && !cpu.transaction.active) cpu.first_lines.again = false;
  while (const std::uint64_t until = stalled_until(request, cpu)) {
    if (atomic) cpu.atomic_due = until;
    if (waits(until)) return wait_until(until);
    request.now = Cycles(until);
  }

  const std::uint16_t needed = cpu.mine(request.kind == AccessKind::kLoad ? kReadable : kWritable);
  Core& core = *cpu.core;
  if (!kLocal && found.l1_slot == Lookup::kNotLookedUp) found.l1_slot = core.l1.find(request.line);
  const bool in_l1 = found.l1_slot != kNoSlot;
  if (in_l1 && (kLocal || (core.l1.state(found.l1_slot).flags & needed))) {
    bool was_prefetched;
    Reply reply = hit_l1(request, cpu, found.l1_slot, was_prefetched);
    reply.reach = reach;
    if (was_prefetched && request.kind == AccessKind::kLoad) follow_up();
    return reply;
  }

  if (!kLocal && found.l2_slot == Lookup::kNotLookedUp) found.l2_slot = core.l2.find(request.line);
  if (!in_l1) {
    if (!kLocal && found.l2_slot == kNoSlot) directory.prefetch_entry(request.line);
    if (untouched_pages.contains(request.line)) [[unlikely]] {
      if (cpu.transaction.active) return aborted_by(request, cpu, HardwareAbort::kFault);
      const std::uint64_t until = fault_in(request, cpu);
      if (waits(until)) return wait_until(until);
      request.now = Cycles(until);
    }
    request.address_ready = std::max(request.address_ready, translate(request, cpu));
  }
  if (request.kind == AccessKind::kLoad) {
    // The core stalls until a fill buffer is free. (A load whose address is not known yet takes one later.)
    for (;;) {
      const std::uint64_t issue = cpu.load_misses.issue_time(request.now.value, request.address_ready.value);
      if (issue <= request.now.value) break;
      cpu.counts.reorder_buffer_stall_cycles += issue - request.now.value;
      cpu.load_misses.idle(issue - request.now.value);
      if (waits(issue)) return wait_until(issue);
      request.now = Cycles(issue);
    }
  }
  if (kLocal || (!in_l1 && found.l2_slot != kNoSlot && (core.l2.state(found.l2_slot).flags & needed))) {
    Reply reply = hit_l2(request, cpu, found.l2_slot);
    if (!kLocal && reply.verdict == Reply::Verdict::kAborted) return reply;
    reply.reach = reach;
    follow_up();
    return reply;
  }
  if (cpu.early.count != 0) [[unlikely]]
    if (const std::uint64_t due = wait_for_early_request(request, cpu)) {
      if (atomic) cpu.atomic_due = due;
      return wait_until(due);
    }
  const Reply reply = coherent_access(request, cpu, found.l1_slot, found.l2_slot);
  if (atomic && reply.verdict == Reply::Verdict::kWait) cpu.atomic_due = reply.clock.value;
  return reply;
}

/// Since when the core has known of the atomic: it fetches the line while it waits.
[[gnu::always_inline]] inline void Access::note_atomic(const Request& request, Cpu& cpu) const {
  const std::uint64_t now = request.now.value;
  const bool comes_back = cpu.atomic_line == request.line && now >= cpu.atomic_due &&
                          now <= cpu.atomic_due + description.coherence.request_cycles;
  if (!comes_back) {
    cpu.atomic_line = request.line;
    cpu.atomic_reached = now;
    cpu.atomic_since = now - cpu.overlap(now);
  }
  cpu.atomic_due = now;
}

/// The CPU has waited for an atomic until `end`.
void Access::note_wait(Cpu& cpu, std::uint64_t end) const {
  LastWait& wait = cpu.last_wait;
  const bool together = cpu.atomic_since < cpu.atomic_reached;  // within the window of the wait before
  wait = {.end = end,
          .length = end - cpu.atomic_since,
          .work = together ? wait.work + (cpu.atomic_reached - wait.end) : 0};
}

/// The end of a stall of the CPU before this access; 0 if there is none. Other CPUs may run until then, so
/// that the access itself happens in order.
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
    // Executes when all earlier loads are finished and all stores visible (SDM Vol. 3A, 8.2.3.9 and 8.2.5).
    // Its own work begins only then, so that between a store becoming visible and an atomic behind it other
    // CPUs may take the line. `now` already contains that work, as the static cost of the instruction.
    const std::uint64_t alone = std::max(cpu.stores.drained(), cpu.load_misses.all_ready(0));
    free = std::max(free, alone + description.instructions.locked_cycles);
  }
  if (free == now) return 0;
  cpu.counts.store_buffer_stall_cycles += free - now;
  cpu.load_misses.idle(free - now);
  return free;
}

/// The operating system gives the page memory. The end of the fault, after which the access begins anew: it
/// is taken when all earlier loads and the address are there. A huge page is cleared at the full rate of the
/// memory, which is the least that it takes.
std::uint64_t Access::fault_in(const Request& request, Cpu& cpu) {
  const bool huge = huge_pages.contains(request.line);
  untouched_pages.touch(request.line, huge);
  ++cpu.counts.page_faults;
  const std::uint64_t taken =
      std::max({request.now.value, request.address_ready.value, cpu.load_misses.all_ready(0)});
  const std::uint64_t cleared =
      huge ? std::uint64_t{description.memory_line_time} << (Tlb::kHugeShift - Link::kFractionBits) : 0;
  const std::uint64_t end = taken + description.system.page_fault_cycles + cleared;
  cpu.load_misses.idle(end - request.now.value);
  return end;
}

/// When the address of an access that misses L1 is translated; 0 if that takes no time. A translation delays
/// the access like an address that is not known yet, so that other work goes on meanwhile.
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

[[gnu::always_inline]] inline Reply Access::hit_l1(const Request& request, Cpu& cpu, std::uint32_t slot,
                                                   bool& was_prefetched) {
  WayState& state = cpu.core->l1.state(slot);
  cpu.core->l1.mark_used(slot);
  const std::uint64_t ready = arrival_of_hit(request, state);
  was_prefetched = state.flags & kPrefetched;
  state.flags = static_cast<std::uint16_t>(state.flags & ~kPrefetched);
  return complete(request, cpu, slot, kNoSlot, ready);
}

[[gnu::always_inline]] inline Reply Access::hit_l2(const Request& request, Cpu& cpu, std::uint32_t l2_slot) {
  Core& core = *cpu.core;
  const WayState old = core.l2.state(l2_slot);
  core.l2.mark_used(l2_slot);
  const std::uint32_t slot = make_room_in_l1(request, cpu);
  if (slot == kNoSlot) return aborted_by(request, cpu, HardwareAbort::kCapacity);
  ++cpu.counts.l1_misses;
  const std::uint64_t arrival = arrival_of_miss(request, cpu, 0, description.l2.latency_cycles);
  // "Dirty" moves up with the line, so that a write-back on eviction does not lose it.
  const std::uint64_t ready = std::max<std::uint64_t>(old.arrival, arrival);
  const std::uint64_t flags = (old.flags & (kPermissions | kDirty)) | PrivateCache::way_hint(l2_slot);
  core.l1.put(slot, request.line, old.moved(ready, flags));
  return complete(request, cpu, slot, kNoSlot, ready);
}

/// When the data of a line that L1 has, in `state`, can be used.
[[gnu::always_inline]] inline std::uint64_t Access::arrival_of_hit(const Request& request,
                                                                   const WayState& state) const {
  const std::uint64_t after_address =
      request.address_ready > request.now ? request.address_ready.value + description.l1d.latency_cycles : 0;
  return std::max<std::uint64_t>({request.now.value, state.arrival, after_address});
}

/// When a missing line arrives in L1: its fetch takes `latency` and starts no sooner than `earliest`.
[[gnu::always_inline]] inline std::uint64_t Access::arrival_of_miss(const Request& request, Cpu& cpu,
                                                                    std::uint64_t earliest,
                                                                    std::uint64_t latency) {
  const std::uint64_t now = request.now.value;
  const std::uint64_t start = std::max({begin_of_fetch(request, cpu), request.address_ready.value, earliest});
  cpu.journey.line = kNoLine;
  if (request.kind == AccessKind::kLoad) return cpu.load_misses.issue(now, start, latency);
  if (request.kind == AccessKind::kAtomic) return std::max(now, start + latency);
  const std::uint64_t arrival = cpu.stores.request_time(start) + latency;
  cpu.stores.requested(arrival);
  return arrival;
}

/// Keeps a store that is not visible at once, to a line that has moved lately. True if the line's contents
/// before it are needed. A second store to the line is hidden as long as the first one. Then loads wait for
/// it.
[[gnu::always_inline]] inline bool Access::note_unseen(const Request& request, Cpu& cpu, std::uint32_t slot,
                                                       std::uint64_t arrival, std::uint64_t visible) {
  const std::uint64_t now = request.now.value;
  UnseenStore& unseen = cpu.unseen;
  if (unseen.line == request.line && unseen.visible > now) return false;
  if (visible <= now || !request.in_one_line || cpu.transaction.active || cpu.core->thread_count > 1 ||
      cpu.core->l1.state(slot).hot_until <= now)
    return false;
  stores_are_unseen = true;
  unseen = {.line = request.line, .executed = now, .arrival = arrival, .visible = visible};
  return true;
}

/// The line is in L1 slot `slot` with the permission that the access needs. Its data arrives at `ready`.
/// `entry` is its directory entry, or kNoSlot if that was not looked up.
[[gnu::always_inline]] inline Reply Access::complete(const Request& request, Cpu& cpu, std::uint32_t slot,
                                                     std::uint32_t entry, std::uint64_t ready) {
  const std::uint64_t now = request.now.value;
  Reply reply = done(now, now);
  reply.performed = request.now;
  const bool write = request.kind != AccessKind::kLoad;
  if (cpu.transaction.active) {
    reply.first_write_in_transaction = join_sets(cpu, request.line, slot, entry, write);
    note_first_line(cpu, request.line, request.now, write);
  }

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
    reply.hides = note_unseen(request, cpu, slot, ready, busy_until);
  } else {
    ++cpu.counts.atomics;
    const std::uint64_t clock =
        ready > now + description.l1d.latency_cycles ? ready - description.l1d.latency_cycles : now;
    reply.clock = reply.data_ready = Cycles(clock);
    note_wait(cpu, clock);
    cpu.atomic_line = cpu.unseen.line = kNoLine;
  }
  if (busy_until > now) {
    // Other CPUs see the store when it drains. Until then they wait for the line.
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
