// SPDX-License-Identifier: Apache-2.0
// An access that needs the directory: the CPU lacks the line or the permission.
//
// Order: wait while the line is on its way to somebody else; abort the transactions that the access
// conflicts with (requester wins); make room; take the permission from those who have it; then time. Nothing
// before "make room" changes the requester's caches, so a requester whose own transaction ends
// there has not performed the access.
#include <algorithm>

#include "machine/internals.h"

namespace elision::machine {

Reply Model::Impl::coherent_access(const Request& request, Cpu& one, std::uint32_t l1_slot,
                                   std::uint32_t l2_slot) {
  Core& home = *one.home;
  const bool load = request.kind == AccessKind::kLoad;
  std::uint64_t earliest = 0;
  std::uint32_t entry = directory.use(request.line);
  const bool in_l3 = entry != kNoSlot;
  if (in_l3) {
    Directory::Entry& line = directory.entry(entry);
    if (must_wait(request, one, entry, earliest)) return wait_until(earliest, true);
    if (line.busy_until <= request.now.value) line.shared_flight = 0;
    if (line.in_sets) resolve_conflicts(request, entry);
  } else {
    entry = allocate_entry(request, one);
  }
  if (!load && !read_filters_in_use.empty()) resolve_false_conflicts(request);
  // All of the above may have taken own copies together with a sibling's.
  std::uint32_t slot = if_still_there(home.l1, l1_slot, request.line);
  const bool in_l1 = slot != kNoSlot;
  if (!in_l1 && entry != kNoSlot) slot = make_room_in_l1(request, one);
  if (entry == kNoSlot || slot == kNoSlot) return aborted_for_room(request, one);
  // What left L1 to make room may have pushed the line out of L2, and a sibling's abort may have put it
  // there.
  l2_slot = home.threads > 1 ? home.l2.find(request.line) : if_still_there(home.l2, l2_slot, request.line);
  const bool local = in_l1 || l2_slot != kNoSlot;
  if (!in_l1) {
    ++one.counts.l1_misses;
    const WayState lower = l2_slot != kNoSlot ? home.l2.state(l2_slot) : WayState{};
    const WayState fresh = lower.with_flags(lower.flags & (kPermissions | kDirty));
    home.l1.put(slot, request.line, fresh);
    if (!local) l2_slot = insert_into_l2(home, request.line, fresh);
  } else {
    forget_in_filters(home, request.line, slot);
  }
  if (!local) ++one.counts.l2_misses;
  if (!in_l3) ++one.counts.l3_misses;

  const std::uint64_t nearest = in_l1   ? description.l1d.latency_cycles
                                : local ? description.l2.latency_cycles
                                        : vary_latency(fetch_cycles(one, request.line, entry, in_l3));
  const LineTransfer transfer =
      load ? share(request, one, entry, nearest) : own(request, one, entry, nearest, local, slot, l2_slot);
  const std::uint64_t hot = note_transfer(request, entry, transfer);

  // A sibling's copy in L1 costs nothing beyond the hit, and takes neither fill buffer nor request.
  const bool instant = in_l1 && transfer.latency_cycles == description.l1d.latency_cycles;
  const std::uint64_t address_there =
      request.address_ready > request.now ? request.address_ready.value + description.l1d.latency_cycles : 0;
  const std::uint64_t here =
      instant ? std::max<std::uint64_t>({request.now.value, home.l1.state(slot).arrival, address_there})
              : arrival_of_miss(request, one, earliest, transfer.latency_cycles);
  const std::uint16_t permission =
      static_cast<std::uint16_t>(one.mine(kReadable) | (transfer.exclusive ? one.mine(kWritable) : 0));
  const auto grant = [&](WayState& state, std::uint16_t more) {
    const WayState granted{here, state.flags, hot, 0, 0};
    state = granted.with_flags((state.flags & ~kPrefetched) | permission | more);
  };
  grant(home.l1.state(slot), transfer.dirty ? kDirty : 0);
  home.l1.mark_used(slot);
  if (l2_slot != kNoSlot) {
    grant(home.l2.state(l2_slot), 0);
    home.l2.mark_used(l2_slot);
  }
  if (!instant) note_flight(one, entry, transfer, load && in_l3, request.now.value, here);
  const Reply reply = complete(request, one, slot, entry, here);
  if (load && !in_l1) prefetch_after(request, one, !local);
  return reply;
}

/// A line that moves again within so long is contended: others are likely to ask for it while it is on its
/// way.
constexpr std::uint64_t kContendedCycles = 10'000;

/// A line that moved between CPUs is hot for a while: returns until when, for those who have it.
[[gnu::always_inline]] inline std::uint64_t Model::Impl::note_transfer(const Request& request,
                                                                       std::uint32_t entry,
                                                                       const LineTransfer& transfer) {
  Directory::Entry& line = directory.entry(entry);
  if (transfer.moved) {
    line.contended = line.moved && request.now.value < line.last_transfer + kContendedCycles;
    line.moved = 1;
    line.last_transfer = request.now.value;
  }
  return hot_until(line);
}

/// The line is on its way to `one` until `arrival`. `to_readers`: it comes from L3 to be read.
[[gnu::always_inline]] inline void Model::Impl::note_flight(Cpu& one, std::uint32_t entry,
                                                            const LineTransfer& transfer, bool to_readers,
                                                            std::uint64_t now, std::uint64_t arrival) {
  Directory::Entry& line = directory.entry(entry);
  if (arrival <= line.busy_until) return;
  line.shared_flight = to_readers && !transfer.exclusive && !transfer.from_owner;
  line.flight = line.busy_until > now && line.flight != one.id ? kNobody : one.id;
  line.busy_until = arrival;
}

/// A store of `one` to the line becomes visible at `when`: until then others wait.
void Model::Impl::note_store(Directory::Entry& line, const Cpu& one, std::uint64_t when) {
  if (when > line.busy_until) line.busy_until = when;
  line.shared_flight = 0;
  line.flight = one.id;
}

/// A CPU does not tell the directory when it stores to a line that its core has: before `one` asks for the
/// line, the directory asks the owner. A store that the owner, who may run ahead, made after `now` is none.
[[gnu::always_inline]] inline void Model::Impl::hear_of_stores(const Cpu& one, std::uint32_t entry,
                                                               LineAddr address, std::uint64_t now) {
  Directory::Entry& line = directory.entry(entry);
  if (line.owner == kNobody || line.owner == one.id) return;
  const Cpu& owner = cpu[line.owner];
  const PrivateCache* const caches[] = {&owner.home->l1, &owner.home->l2};
  for (const PrivateCache* cache : caches) {
    const std::uint32_t slot = cache->find(address);
    if (slot == kNoSlot) continue;
    const WayState& state = cache->state(slot);
    const std::uint64_t visible = state.stored_until, executed = visible - state.stored_for;
    if (visible > line.busy_until && executed <= now) note_store(line, owner, visible);
    return;
  }
}

/// True if the line is on its way to another CPU: then `until` says when to ask again. If it is on its way to
/// this CPU alone (a store behind its own load, say), the core does not stop, but the request starts no
/// sooner than `until`. Not so for a contended line: others that have asked for it by then are served between
/// the core's load and its store, so the store must not execute before its time.
bool Model::Impl::must_wait(const Request& request, Cpu& one, std::uint32_t entry, std::uint64_t& until) {
  Directory::Entry& line = directory.entry(entry);
  const std::uint64_t now = request.now.value;
  hear_of_stores(one, entry, request.line, now);
  if (line.busy_until <= now) return false;
  if ((line.flight == one.id && !line.contended) || directory.sharers(entry).without(one.id).empty()) {
    until = line.busy_until;
    return false;
  }
  if (request.kind == AccessKind::kLoad) {
    if (line.shared_flight) {
      line.flight = kNobody;
      return false;
    }
  } else {
    // Later readers queue behind this writer instead of prolonging its wait.
    line.shared_flight = 0;
  }
  until = line.busy_until;
  one.load_misses.idle(until - now);
  return true;
}

std::uint64_t Model::Impl::busy_until(const Request& request) {
  const std::uint32_t entry = directory.use(request.line);
  std::uint64_t until = 0;
  const bool busy = entry != kNoSlot && must_wait(request, cpu[request.cpu.value], entry, until);
  return busy ? until : 0;
}

/// Aborts every other transaction that this access conflicts with; requester wins.
void Model::Impl::resolve_conflicts(const Request& request, std::uint32_t entry) {
  const bool load = request.kind == AccessKind::kLoad;
  const unsigned requester = request.cpu.value;
  while (ReadWriteSets* sets = directory.read_write_sets(entry)) {
    unsigned victim = sets->writer;
    if (victim == kNobody || victim == requester) {
      const CpuMask others = sets->readers.without(requester);
      if (load || others.empty()) return;
      victim = others.first();
    }
    const bool only_read = victim != sets->writer;
    const bool blind =
        only_read && cpu[victim].transaction.always_abort && !description.always_abort.detects_read_conflicts;
    if (description.conflict_detection && !blind) {
      abort_other(cpu[victim], HardwareAbort::kConflict, request.line, request.cpu, request.now);
    } else {
      leave_sets(cpu[victim], *sets);
    }
  }
}

/// Aborts every other transaction whose filter takes the line that is to be written for one that it has read.
void Model::Impl::resolve_false_conflicts(const Request& request) {
  for (CpuMask others = read_filters_in_use.without(request.cpu.value); !others.empty();) {
    Cpu& victim = cpu[others.first()];
    others.clear(victim.id);
    if (!conflicts_end(victim) || !victim.transaction.read_filter.may_have(request.line)) continue;
    ++victim.counts.false_conflicts;
    abort_other(victim, HardwareAbort::kConflict, request.line, request.cpu, request.now);
  }
}

/// A load: takes the right to write from whoever has it. `nearest_cycles` is the latency if no other core
/// has to supply the line.
[[gnu::always_inline]] inline Model::Impl::LineTransfer Model::Impl::share(const Request& request, Cpu& one,
                                                                           std::uint32_t entry,
                                                                           std::uint64_t nearest_cycles) {
  Directory::Entry& line = directory.entry(entry);
  LineTransfer transfer{nearest_cycles, false, false, false, false};
  if (line.owner == one.id && !line.in_sets) {  // it was here before, and nobody wanted it since
    transfer.exclusive = true;
    return transfer;
  }
  CpuMask sharers = directory.sharers(entry);
  if (line.owner != kNobody && line.owner != one.id) {
    Cpu& owner = cpu[line.owner];
    bool dirty = false;
    const std::uint64_t hot = request.now.value + description.coherence.hot_window_cycles;
    if (give_up_ownership(owner, request.line, hot, dirty)) {
      transfer.moved = true;
      if (owner.home != one.home) {
        ++one.counts.cache_to_cache;
        transfer.from_owner = true;
        transfer.latency_cycles = vary_latency((dirty ? description.coherence.dirty_transfer_cycles
                                                      : description.coherence.clean_transfer_cycles) +
                                               crossing_cycles(one, owner));
      }
    } else if (owner.home->l1i.find(request.line) == kNoSlot) {
      sharers.clear(owner.id);  // it had dropped the line silently
    }
  }
  const ReadWriteSets* sets = directory.read_write_sets(entry);
  // A line that another transaction has read is never owned by a reader, even if nobody caches it:
  // its first store must come by the directory.
  transfer.exclusive = sharers.without(one.id).empty() && (!sets || sets->readers.without(one.id).empty());
  line.owner = transfer.exclusive ? one.id : kNobody;
  sharers.set(one.id);
  directory.set_sharers(entry, sharers);
  return transfer;
}

/// A store or atomic: takes the line from everybody else. `local` says that the requester's core
/// has the data already; `slot` and `l2_slot` are where it has or will have them.
Model::Impl::LineTransfer Model::Impl::own(const Request& request, Cpu& one, std::uint32_t entry,
                                           std::uint64_t nearest_cycles, bool local, std::uint32_t slot,
                                           std::uint32_t l2_slot) {
  Directory::Entry& line = directory.entry(entry);
  Core& home = *one.home;
  const unsigned owner = line.owner;
  bool remote = false, sibling = false, remote_owner = false, dirty = false;
  std::uint64_t crossing = 0;
  const bool upgrade = home.l1.state(slot).flags & one.mine(kReadable);
  // Permission first, so that taking a sibling's does not drop the copy of both.
  home.l1.state(slot).flags |= one.mine(kReadable);
  if (l2_slot != kNoSlot) home.l2.state(l2_slot).flags |= one.mine(kReadable);
  for (CpuMask others = directory.sharers(entry).without(one.id); !others.empty();) {
    Cpu& holder = cpu[others.first()];
    others.clear(holder.id);
    bool was_dirty = false;
    if (!invalidate(holder, request.line, was_dirty)) continue;
    ++holder.counts.invalidations_received;
    if (holder.home == one.home) {
      sibling = true;
    } else {
      remote = true;
      dirty = dirty || was_dirty;
      crossing = std::max(crossing, crossing_cycles(one, holder));
      remote_owner = remote_owner || holder.id == owner;
    }
  }
  line.owner = one.id;
  directory.set_sharers(entry, CpuMask::of(one.id));
  drop_code(home, request.line);  // code that writes itself fetches it again

  if (upgrade) ++one.counts.upgrades;
  LineTransfer transfer{nearest_cycles, remote || sibling, remote_owner, dirty, true};
  const auto& coherence = description.coherence;
  if (remote_owner) {
    ++one.counts.cache_to_cache;
    transfer.latency_cycles =
        vary_latency((dirty ? coherence.dirty_transfer_cycles : coherence.clean_transfer_cycles) + crossing);
  } else if (remote) {
    // The last level supplies data and collects acknowledgements at the same time.
    const std::uint64_t acknowledged = vary_latency(coherence.upgrade_cycles + crossing);
    transfer.latency_cycles = local ? acknowledged : std::max(nearest_cycles, acknowledged);
  } else if (local && !(sibling && owner != kNobody)) {
    const std::uint64_t hop = directory.socket(entry) == one.socket ? 0 : description.hop_cycles;
    transfer.latency_cycles = vary_latency(description.l3.latency_cycles + hop);  // asks, and nobody objects
  }
  return transfer;
}

/// `owner` keeps the line to read, and has written it back. False if it has no copy any more.
bool Model::Impl::give_up_ownership(Cpu& owner, LineAddr line, std::uint64_t hot_until, bool& dirty) {
  Core& at = *owner.home;
  const std::uint16_t lost = owner.mine(kWritable | kTransactionWritten) | kDirty;
  bool had = false;
  const auto degrade = [&](WayState& state) {
    had = had || (state.flags & owner.mine(kReadable));
    dirty = dirty || (state.flags & kDirty);
    state.flags = static_cast<std::uint16_t>(state.flags & ~lost);
    state.hot_until = hot_until;
  };
  if (const std::uint32_t slot = at.l1.find(line); slot != kNoSlot) {
    forget_in_filters(at, line, slot);
    degrade(at.l1.state(slot));
  }
  if (const std::uint32_t slot = at.l2.find(line); slot != kNoSlot) degrade(at.l2.state(slot));
  return had;
}

/// Takes the line from one CPU, and from its core unless a sibling may still read it. False if the
/// CPU had no copy.
bool Model::Impl::invalidate(Cpu& holder, LineAddr line, bool& dirty) {
  Core& at = *holder.home;
  bool had = false;
  const auto take = [&](PrivateCache& cache, std::uint32_t slot) {
    WayState& state = cache.state(slot);
    had = had || (state.flags & holder.mine(kReadable));
    dirty = dirty || (state.flags & kDirty);
    state.flags = static_cast<std::uint16_t>(state.flags & ~holder.mine(kOfOneThread));
    if (!(state.flags & kPermissions)) cache.remove(slot);
  };
  if (const std::uint32_t slot = at.l1.find(line); slot != kNoSlot) {
    forget_in_filters(at, line, slot);
    take(at.l1, slot);
  }
  if (const std::uint32_t slot = at.l2.find(line); slot != kNoSlot) take(at.l2, slot);
  drop_code(at, line);
  return had;
}

/// A place in the directory for a line that is not in L3. kNoSlot if that would evict a line
/// without which the requester's own transaction cannot go on.
std::uint32_t Model::Impl::allocate_entry(const Request& request, Cpu& one) {
  const std::uint32_t entry = directory.choose_victim(request.line, one.socket);
  if (!directory.empty(entry) && !end_transactions_of_evicted(request, one, entry)) return kNoSlot;
  return replace_entry(request.line, entry);
}

/// Gives `entry`, whose line no transaction needs any more, to `line`.
[[gnu::always_inline]] inline std::uint32_t Model::Impl::replace_entry(LineAddr line, std::uint32_t entry) {
  if (!directory.empty(entry)) {
    const LineAddr old = directory.line(entry);
    for (CpuMask holders = directory.sharers(entry); !holders.empty();) {
      Cpu& holder = cpu[holders.first()];
      holders.clear(holder.id);
      bool dirty = false;
      invalidate(holder, old, dirty);
    }
  }
  directory.put(entry, line);
  return entry;
}

/// What it takes to get a line that no other core has to supply, from L3 or memory.
[[gnu::always_inline]] inline std::uint64_t Model::Impl::fetch_cycles(const Cpu& one, LineAddr line,
                                                                      std::uint32_t entry, bool in_l3) {
  const std::uint64_t near = in_l3 ? description.l3.latency_cycles : description.memory_latency_cycles;
  if (!numa.several_nodes()) return near;
  // An inclusive L3 keeps what its own cores share.
  const bool here = in_l3 ? directory.socket(entry) == one.socket ||
                                numa.any_of_socket(directory.sharers(entry), one.socket)
                          : numa.node_of(line, one.socket) == one.socket;
  return here ? near : near + description.hop_cycles;
}

/// Ends the transactions of others that cannot live without the directory entry. False, before
/// anything has changed, if the requester's own is among them.
bool Model::Impl::end_transactions_of_evicted(const Request& request, Cpu& one, std::uint32_t entry) {
  const auto needs_it = [&](const ReadWriteSets& sets, const Cpu& who) {
    return sets.writer == who.id || aborts_on_eviction_of_read_line(who, ReadEviction::kL3);
  };
  ReadWriteSets* sets = directory.read_write_sets(entry);
  if (sets && sets->has(one.id) && needs_it(*sets, one)) return false;
  const LineAddr old = directory.line(entry);
  while ((sets = directory.read_write_sets(entry))) {
    Cpu& who = cpu[sets->writer != kNobody ? sets->writer : sets->readers.first()];
    if (needs_it(*sets, who)) {
      abort_other(who, HardwareAbort::kCapacity, old, request.cpu, request.now);
    } else {
      leave_sets(who, *sets);
    }
  }
  return true;
}

}  // namespace elision::machine
