// SPDX-License-Identifier: Apache-2.0
// Coherence: what the directory does for an access, a fetch or a prefetch.
#include "machine/coherence.h"

#include <algorithm>

namespace elision::machine {

/// A line that moves again within this time is contended: other CPUs are likely to ask for it while it is in
/// flight.
constexpr std::uint64_t kContendedCycles = 10'000;

[[gnu::always_inline]] inline std::uint64_t Coherence::note_transfer(const Request& request,
                                                                     std::uint32_t entry,
                                                                     const LineTransfer& transfer) {
  Directory::Entry& line = directory.entry(entry);
  if (transfer.moved) {
    line.contended = line.moved && request.now.value < line.last_transfer + kContendedCycles;
    line.moved = 1;
    line.last_transfer = request.now.value;
  }
  return line.moved ? line.last_transfer + description.coherence.hot_window_cycles : 0;
}

[[gnu::always_inline]] inline void Coherence::note_flight(Cpu& cpu, std::uint32_t entry,
                                                          const LineTransfer& transfer, bool to_readers,
                                                          std::uint64_t now, std::uint64_t arrival) {
  Directory::Entry& line = directory.entry(entry);
  if (arrival <= line.busy_until) return;
  line.shared_flight = to_readers && !transfer.exclusive && !transfer.from_owner;
  line.flight = line.busy_until > now && line.flight != cpu.id ? kNoCpu : cpu.id;
  line.prolong(arrival);
}

[[gnu::always_inline]] inline void Coherence::hear_of_stores(const Cpu& cpu, std::uint32_t entry,
                                                             LineAddr address, std::uint64_t now) {
  Directory::Entry& line = directory.entry(entry);
  if (line.owner == kNoCpu || line.owner == cpu.id) return;
  const Cpu& owner = cpus[line.owner];
  const PrivateCache* const caches[] = {&owner.core->l1, &owner.core->l2};
  for (const PrivateCache* cache : caches) {
    const std::uint32_t slot = cache->find(address);
    if (slot == kNoSlot) continue;
    const WayState& state = cache->state(slot);
    const std::uint64_t visible = state.stored_until, executed = visible - state.stored_for;
    if (visible > line.busy_until && executed <= now) line.note_store(owner.id, visible);
    return;
  }
}

Cpu* Coherence::may_hide(const Request& request, const Cpu& cpu, std::uint32_t entry) {
  if (!stores_are_unseen || !request.in_one_line || request.kind != AccessKind::kLoad ||
      cpu.transaction.active)
    return nullptr;
  const unsigned owner = directory.entry(entry).owner;
  if (owner == kNoCpu || cpus[owner].core == cpu.core) return nullptr;
  const UnseenStore& unseen = cpus[owner].unseen;
  const std::uint64_t now = request.now.value;
  const bool waits = unseen.line == request.line && unseen.executed <= now && unseen.visible > now;
  return waits ? &cpus[owner] : nullptr;
}

Cpu* Coherence::hides(const Request& request, const Cpu& cpu, std::uint32_t entry) {
  Cpu* const owner = may_hide(request, cpu, entry);
  return owner != nullptr && owner->unseen.arrival <= request.now.value ? owner : nullptr;
}

std::uint64_t Coherence::pass_unseen_store(const Request& request, Cpu& cpu, std::uint32_t entry,
                                           Cpu& owner) {
  const auto& coherence = description.coherence;
  const bool takes = takes_line(request, cpu, entry);
  const std::uint64_t now = request.now.value, spent = time_on_the_way(request, cpu);
  const std::uint64_t whole = vary_latency(coherence.dirty_transfer_cycles + crossing_cycles(cpu, owner));
  const std::uint64_t latency = whole - std::min(whole, spent);
  // The store asks for the line as soon as it is gone. It gets it when the load has it, or when that CPU has
  // acknowledged.
  const std::uint64_t way = std::min<std::uint64_t>(coherence.request_cycles, whole);
  const std::uint64_t back = takes ? now + latency + way / 2 + (whole - way)
                                   : std::max(now + latency, now + vary_latency(coherence.upgrade_cycles +
                                                                                crossing_cycles(cpu, owner)));
  owner.unseen.arrival = back;
  owner.unseen.visible = std::max(owner.unseen.visible, back);
  owner.stores.delay_last(owner.unseen.visible);
  Directory::Entry& line = directory.entry(entry);
  line.note_store(owner.id, owner.unseen.visible);
  line.last_transfer = now;
  ++cpu.counts.l1_misses;
  ++cpu.counts.l2_misses;
  ++cpu.counts.cache_to_cache;
  ++cpu.counts.loads_slow;
  return latency;
}

bool Coherence::must_queue(const Request& request, const Cpu& cpu, std::uint32_t entry,
                           std::uint64_t& until) {
  Directory::Entry& line = directory.entry(entry);
  const std::uint64_t now = request.now.value;
  hear_of_stores(cpu, entry, request.line, now);
  if (line.busy_until <= now) {
    line.waiting = 0;
    return false;
  }
  if ((line.flight == cpu.id && !line.contended) || directory.sharers(entry).without(cpu.id).empty()) {
    until = line.busy_until;
    return false;
  }
  if (request.kind == AccessKind::kLoad) {
    if (line.shared_flight) {
      line.flight = kNoCpu;
      return false;
    }
  } else {
    // Later readers queue after this writer instead of prolonging its wait.
    line.shared_flight = 0;
  }
  // One cycle apart, in the order in which they came. The first one gets the line, and the others come back
  // in the same order.
  until = line.busy_until + line.waiting;
  if (line.waiting < kMaxCpus) ++line.waiting;
  return true;
}

bool Coherence::must_wait(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t& until) {
  if (!must_queue(request, cpu, entry, until)) return false;
  const std::uint64_t now = request.now.value;
  if (const Cpu* owner = may_hide(request, cpu, entry))
    until = std::min(until, std::max(now + 1, owner->unseen.arrival));
  if (whereabouts(request, cpu) == Journey::At::kNowhere)
    cpu.journey = {.line = request.line, .at = Journey::At::kHome, .kind = request.kind};
  cpu.journey.due = until;
  cpu.load_misses.idle(until - now);
  return true;
}

/// A contended line that another core has.
bool Coherence::takes_from_other_core(const Request& request, const Cpu& cpu, std::uint32_t entry) const {
  return entry != kNoSlot && directory.entry(entry).contended &&
         is_elsewhere(cpu, entry, request.kind != AccessKind::kLoad);
}

bool Coherence::is_elsewhere(const Cpu& cpu, std::uint32_t entry, bool takes) const {
  const unsigned owner = directory.entry(entry).owner;
  if (owner != kNoCpu && cpus[owner].core != cpu.core) return true;
  if (!takes) return false;
  for (CpuMask others = directory.sharers(entry); !others.empty(); others.clear(others.first()))
    if (cpus[others.first()].core != cpu.core) return true;
  return false;
}

/// The other core goes on until the request is there: it may use the line, and a transaction that ends before
/// is not aborted. Without this, a CPU that waits for a line would take it in the moment in which it arrives
/// elsewhere: two CPUs with short transactions on one line would abort each other nearly always, which on a
/// real part they rarely do (conflicts in repro/silicon).
std::uint64_t Coherence::travel(const Request& request, Cpu& cpu, std::uint32_t entry) {
  const std::uint64_t whole = description.coherence.request_cycles, now = request.now.value;
  if (whole == 0) return 0;
  const Journey::At at = whereabouts(request, cpu);
  if (at == Journey::At::kCore) return 0;
  const bool conflicts = active_transactions != 0 && description.conflict_detection &&
                         conflicts_with_other_core(request, cpu, entry);
  if (!conflicts && !takes_from_other_core(request, cpu, entry)) return 0;
  const std::uint64_t way =
      vary_part(at == Journey::At::kHome ? whole / 2 : whole, description.coherence.dirty_transfer_cycles);
  const std::uint64_t begin = begin_of_journey(request, cpu), due = std::max(now, begin + way);
  cpu.journey = {.line = request.line,
                 .begin = begin,
                 .due = due,
                 .spent = way,
                 .at = Journey::At::kCore,
                 .kind = request.kind};
  cpu.load_misses.idle(due - now);
  return due == now ? 0 : due;
}

/// The CPU stands still while a request travels, which a real core does not: it sends the requests that
/// follow, so that they travel together. What follows within the reorder buffer, and whose address does not
/// depend on the request before, began its way as long after that one as it comes after its arrival.
std::uint64_t Coherence::begin_of_journey(const Request& request, const Cpu& cpu) const {
  const std::uint64_t now = request.now.value;
  const Journey& last = cpu.journey;
  if (whereabouts(request, cpu) == Journey::At::kHome) return now;  // it waited there until the line was free
  const bool together = last.at == Journey::At::kCore && request.kind != AccessKind::kAtomic &&
                        now - last.due <= cpu.load_misses.window() &&
                        request.address_ready.value <= last.begin;
  if (together) return last.begin + (now - last.due);
  // Behind a commit, lines that move to and fro are not fetched early: where two threads count their
  // transactions in one line, an attempt takes two transfers (conflicts in repro/silicon).
  if (cpu.last_wait.commit) return request.kind == AccessKind::kAtomic ? cpu.atomic_reached : now;
  return begin_of_fetch(request, cpu);
}

std::uint64_t Coherence::begin_of_fetch(const Request& request, const Cpu& cpu) const {
  const std::uint64_t now = request.now.value;
  if (whereabouts(request, cpu) == Journey::At::kCore) return cpu.journey.begin + cpu.journey.spent;
  if (request.kind == AccessKind::kAtomic) return cpu.atomic_since;
  if (request.kind == AccessKind::kLoad) return now - cpu.overlap(now);
  return now;
}

/// The access comes back when it is due, or a little later by what its core owes for a sibling. One that
/// comes much later is another one.
Journey::At Coherence::whereabouts(const Request& request, const Cpu& cpu) const {
  const std::uint64_t now = request.now.value, due = cpu.journey.due;
  const bool on_its_way =
      cpu.journey.line == request.line && now >= due && now <= due + description.coherence.request_cycles;
  return on_its_way ? cpu.journey.at : Journey::At::kNowhere;
}

std::uint64_t Coherence::time_on_the_way(const Request& request, const Cpu& cpu) const {
  return whereabouts(request, cpu) == Journey::At::kCore ? cpu.journey.spent : 0;
}

std::uint64_t Coherence::busy_until(const Request& request) {
  const std::uint32_t entry = directory.use(request.line);
  std::uint64_t until = 0;
  if (entry != kNoSlot && hides(request, cpus[request.cpu.value], entry)) return 0;
  const bool busy = entry != kNoSlot && must_wait(request, cpus[request.cpu.value], entry, until);
  return busy ? until : 0;
}

[[gnu::always_inline]] inline LineTransfer Coherence::share(const Request& request, Cpu& cpu,
                                                            std::uint32_t entry,
                                                            std::uint64_t nearest_cycles) {
  Directory::Entry& line = directory.entry(entry);
  LineTransfer transfer{nearest_cycles, false, false, false, false};
  if (line.owner == cpu.id && !line.in_sets) {  // it was here before, and no other CPU has asked since
    transfer.exclusive = true;
    return transfer;
  }
  CpuMask sharers = directory.sharers(entry);
  if (line.owner != kNoCpu && line.owner != cpu.id) {
    Cpu& owner = cpus[line.owner];
    bool dirty = false;
    const std::uint64_t hot = request.now.value + description.coherence.hot_window_cycles;
    if (give_up_ownership(owner, request.line, hot, dirty)) {
      transfer.moved = true;
      if (owner.core != cpu.core) {
        ++cpu.counts.cache_to_cache;
        transfer.from_owner = true;
        transfer.latency_cycles = vary_latency((dirty ? description.coherence.dirty_transfer_cycles
                                                      : description.coherence.clean_transfer_cycles) +
                                               crossing_cycles(cpu, owner));
      }
    } else if (owner.core->l1i.find(request.line) == kNoSlot) {
      sharers.clear(owner.id);  // it dropped the line silently
    }
  }
  const ReadWriteSets* sets = directory.read_write_sets(entry);
  // A reader never owns a line that another CPU's transaction has read, even if no cache has it: the first
  // store must ask the directory.
  transfer.exclusive = sharers.without(cpu.id).empty() && (!sets || sets->readers.without(cpu.id).empty());
  line.owner = transfer.exclusive ? cpu.id : kNoCpu;
  sharers.set(cpu.id);
  directory.set_sharers(entry, sharers);
  return transfer;
}

LineTransfer Coherence::own(const Request& request, Cpu& cpu, std::uint32_t entry,
                            std::uint64_t nearest_cycles, bool local, std::uint32_t slot,
                            std::uint32_t l2_slot) {
  Directory::Entry& line = directory.entry(entry);
  Core& core = *cpu.core;
  const unsigned owner = line.owner;
  bool remote = false, sibling = false, remote_owner = false, dirty = false;
  std::uint64_t crossing = 0;
  const bool upgrade = core.l1.state(slot).flags & cpu.mine(kReadable);
  // Get the permission first: otherwise invalidating the sibling drops the copy that both share.
  core.l1.state(slot).flags |= cpu.mine(kReadable);
  if (l2_slot != kNoSlot) core.l2.state(l2_slot).flags |= cpu.mine(kReadable);
  for (CpuMask others = directory.sharers(entry).without(cpu.id); !others.empty();) {
    Cpu& holder = cpus[others.first()];
    others.clear(holder.id);
    bool was_dirty = false;
    if (!invalidate(holder, request.line, was_dirty)) continue;
    ++holder.counts.invalidations_received;
    if (holder.core == cpu.core) {
      sibling = true;
    } else {
      remote = true;
      dirty = dirty || was_dirty;
      crossing = std::max(crossing, crossing_cycles(cpu, holder));
      remote_owner = remote_owner || holder.id == owner;
    }
  }
  line.owner = cpu.id;
  directory.set_sharers(entry, CpuMask::of(cpu.id));
  drop_code(core, request.line);  // self-modifying code is fetched again

  if (upgrade) ++cpu.counts.upgrades;
  LineTransfer transfer{nearest_cycles, remote || sibling, remote_owner, dirty, true};
  const auto& coherence = description.coherence;
  if (remote_owner) {
    ++cpu.counts.cache_to_cache;
    transfer.latency_cycles =
        vary_latency((dirty ? coherence.dirty_transfer_cycles : coherence.clean_transfer_cycles) + crossing);
  } else if (remote) {
    // The last level supplies the data while it collects acknowledgements.
    const std::uint64_t acknowledged = vary_latency(coherence.upgrade_cycles + crossing);
    transfer.latency_cycles = local ? acknowledged : std::max(nearest_cycles, acknowledged);
  } else if (local && !(sibling && owner != kNoCpu)) {
    const std::uint64_t hop = directory.socket(entry) == cpu.socket ? 0 : description.hop_cycles;
    transfer.latency_cycles =
        vary_latency(description.l3.latency_cycles + hop);  // only the directory's answer
  }
  return transfer;
}

bool Coherence::give_up_ownership(Cpu& owner, LineAddr line, std::uint64_t hot_until, bool& dirty) {
  Core& core = *owner.core;
  owner.unseen.line = kNoLine;
  const std::uint16_t lost = owner.mine(kWritable | kTransactionWritten) | kDirty;
  bool had = false;
  const auto degrade = [&](WayState& state) {
    had = had || (state.flags & owner.mine(kReadable));
    dirty = dirty || (state.flags & kDirty);
    state.flags = static_cast<std::uint16_t>(state.flags & ~lost);
    state.hot_until = hot_until;
  };
  if (const std::uint32_t slot = core.l1.find(line); slot != kNoSlot) {
    forget_in_filters(core, line, slot);
    degrade(core.l1.state(slot));
  }
  if (const std::uint32_t slot = core.l2.find(line); slot != kNoSlot) degrade(core.l2.state(slot));
  return had;
}

bool Coherence::invalidate(Cpu& holder, LineAddr line, bool& dirty) {
  Core& core = *holder.core;
  bool had = false;
  holder.unseen.line = kNoLine;
  const auto take = [&](PrivateCache& cache, std::uint32_t slot) {
    WayState& state = cache.state(slot);
    had = had || (state.flags & holder.mine(kReadable));
    dirty = dirty || (state.flags & kDirty);
    state.flags = static_cast<std::uint16_t>(state.flags & ~holder.mine(kOfOneThread));
    if (!(state.flags & kPermissions)) cache.remove(slot);
  };
  if (const std::uint32_t slot = core.l1.find(line); slot != kNoSlot) {
    forget_in_filters(core, line, slot);
    take(core.l1, slot);
  }
  if (const std::uint32_t slot = core.l2.find(line); slot != kNoSlot) take(core.l2, slot);
  drop_code(core, line);
  return had;
}

std::uint32_t Coherence::allocate_entry(const Request& request, Cpu& cpu) {
  const std::uint32_t entry = directory.choose_victim(request.line, cpu.socket);
  if (!directory.empty(entry) && !end_transactions_of_evicted(request, cpu, entry)) return kNoSlot;
  return replace_entry(request.line, entry);
}

void Coherence::invalidate_all(std::uint32_t entry) {
  const LineAddr line = directory.line(entry);
  for (CpuMask holders = directory.sharers(entry); !holders.empty();) {
    Cpu& holder = cpus[holders.first()];
    holders.clear(holder.id);
    bool dirty = false;
    invalidate(holder, line, dirty);
  }
}

void Coherence::flush(LineAddr line) {
  const std::uint32_t entry = directory.find(line);
  if (entry == kNoSlot || directory.read_write_sets(entry)) return;
  invalidate_all(entry);
  directory.remove(entry);
}

[[gnu::always_inline]] inline std::uint32_t Coherence::replace_entry(LineAddr line, std::uint32_t entry) {
  if (!directory.empty(entry)) invalidate_all(entry);
  directory.put(entry, line);
  return entry;
}

void Coherence::set_untouched(GuestAddr begin, GuestAddr end, bool untouched) {
  constexpr std::uint64_t kLines = UntouchedPages::kPageBytes / kLineBytes;
  untouched_pages.set(begin, end, untouched, [this](std::uint64_t page) {
    for (std::uint64_t i = 0; i < kLines; ++i) take_from_cores(LineAddr(page * kLines + i));
  });
}

void Coherence::take_from_cores(LineAddr line) {
  const std::uint32_t entry = directory.find(line);
  if (entry != kNoSlot && !directory.read_write_sets(entry)) replace_entry(line, entry);
}

[[gnu::always_inline]] inline std::uint64_t Coherence::fetch_cycles(const Cpu& cpu, LineAddr line,
                                                                    std::uint32_t entry, bool in_l3) {
  const std::uint64_t near = in_l3 ? description.l3.latency_cycles : description.memory_latency_cycles;
  if (!numa.several_nodes()) return near;
  // An inclusive L3 has the lines that its own cores share.
  const bool here = in_l3 ? directory.socket(entry) == cpu.socket ||
                                numa.any_of_socket(directory.sharers(entry), cpu.socket)
                          : numa.node_of(line, cpu.socket) == cpu.socket;
  return here ? near : near + description.hop_cycles;
}

}  // namespace elision::machine
