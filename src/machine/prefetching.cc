// SPDX-License-Identifier: Apache-2.0
// Prefetching: which lines an access suggests, and how they are fetched. The prefetchers of L1 see loads
// alone, those of L2 stores too.
//
// A prefetch is a hint. It is dropped if the line is in flight, if no fill buffer is free (into L1 only), or
// if it would evict a line that a transaction needs. It joins no read set and does not cross a page.
// Otherwise it is a read like others, also in a stream of stores: if the machine's prefetches snoop, it takes
// a modified line from another core, which aborts a transaction that has written the line.
#include "machine/prefetching.h"

#include <algorithm>

namespace elision::machine {

namespace {

/// Visits the lines of the same page that a load of `line` suggests for L1: the next line, if L1 has the line
/// before it, and the line at its stride, if that is not 0.
template <class Visit>
[[gnu::always_inline]] inline void for_each_suggested(const Description& machine, const Core& core,
                                                      LineAddr line, std::int64_t stride, Visit visit) {
  const auto suggest = [&](std::uint64_t wanted) {
    if (wanted >> Tlb::kPageShift == line.value >> Tlb::kPageShift) visit(LineAddr(wanted));
  };
  if (machine.prefetch.next_line && core.l1.find(LineAddr(line.value - 1)) != kNoSlot)
    suggest(line.value + 1);
  if (stride != 0) suggest(line.value + static_cast<std::uint64_t>(stride));
}

template <class Visit>
void for_each_line(const Streamer::Lines& lines, Visit visit) {
  for (int i = 0; i < lines.count; ++i)
    visit(LineAddr(lines.first + static_cast<std::uint64_t>(std::int64_t{lines.step} * i)));
}

}  // namespace

void Prefetching::prefetch_after(const Request& request, Cpu& cpu, bool missed_l2) {
  const std::uint64_t now = request.now.value, start = start_of_prefetch(request, cpu);
  if (request.kind == AccessKind::kLoad) {
    const std::int64_t stride = strides(request) ? cpu.strides.observe(request.instruction, request.line) : 0;
    for_each_suggested(description, *cpu.core, request.line, stride,
                       [&](LineAddr wanted) { prefetch(cpu, wanted, now, start, true); });
  }
  if (description.prefetch.adjacent_line && missed_l2)
    prefetch(cpu, LineAddr(request.line.value ^ 1), now, start, false);
  if (description.prefetch.stream_lines == 0) return;
  for_each_line(cpu.core->streamer.observe(request.line, description.prefetch.stream_lines),
                [&](LineAddr wanted) { prefetch(cpu, wanted, now, start, false); });
}

/// Where each line of a page has sets of its own, neither these lines nor the access evict another one of
/// them. Otherwise the access is not kept in the core.
bool Prefetching::plan_prefetches(const Request& request, const Cpu& cpu, LocalPrefetches& plan) const {
  const Core& core = *cpu.core;
  const bool own_sets = std::min(core.l1.sets(), core.l2.sets()) >= 1U << Tlb::kPageShift;
  bool stays = true;
  plan.count = 0;
  if (description.prefetch.stream_lines != 0) {
    plan.stream = core.streamer.expect(request.line, description.prefetch.stream_lines);
    for_each_line(plan.stream.lines, [&](LineAddr wanted) {
      stays = stays && own_sets && (core.l2.find(wanted) != kNoSlot || core.l1.find(wanted) != kNoSlot);
    });
  }
  if (!stays || request.kind != AccessKind::kLoad) return stays;
  const std::int64_t stride = strides(request) ? cpu.strides.expect(request.instruction, request.line) : 0;
  for_each_suggested(description, core, request.line, stride, [&](LineAddr wanted) {
    stays = stays && own_sets;
    const bool planned = plan.count != 0 && plan.from_l2[0].line == wanted;
    if (!stays || planned || core.l1.find(wanted) != kNoSlot) return;
    const std::uint32_t slot = core.l2.find(wanted);
    stays = slot != kNoSlot;
    if (stays && (core.l2.state(slot).flags & cpu.mine(kReadable)))
      plan.from_l2[plan.count++] = {wanted, slot};
  });
  return stays;
}

void Prefetching::prefetch_as_planned(const Request& request, Cpu& cpu, const LocalPrefetches& plan) {
  if (request.kind == AccessKind::kLoad && strides(request))
    cpu.strides.note(request.instruction, request.line);
  for (unsigned i = 0; i < plan.count; ++i)
    prefetch_from_l2(cpu, plan.from_l2[i].line, plan.from_l2[i].l2_slot, start_of_prefetch(request, cpu));
  if (description.prefetch.stream_lines != 0) cpu.core->streamer.take(request.line, plan.stream);
}

void Prefetching::prefetch(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t start, bool into_l1) {
  Core& core = *cpu.core;
  if (core.l1.find(line) != kNoSlot) return;
  const std::uint32_t l2_slot = core.l2.find(line);
  if (l2_slot != kNoSlot) {
    if (into_l1 && (core.l2.state(l2_slot).flags & cpu.mine(kReadable)))
      prefetch_from_l2(cpu, line, l2_slot, start);
    return;
  }
  std::uint32_t entry = directory.find(line);
  const bool in_l3 = entry != kNoSlot;
  if (in_l3) {
    hear_of_stores(cpu, entry, line, now);
    if (!may_prefetch(cpu, entry, now)) return;
  }
  if (!in_l3) {
    entry = directory.choose_victim(line, cpu.socket);
    if (!directory.empty(entry) && directory.entry(entry).in_sets) return;
  }
  if (into_l1 && !cpu.load_misses.has_free_buffer(now)) return;
  const std::uint32_t slot = into_l1 ? room_in_l1_for_prefetch(cpu, line) : kNoSlot;
  if (into_l1 && slot == kNoSlot) return;
  const Request request{.cpu = CpuId(cpu.id),
                        .line = line,
                        .kind = AccessKind::kLoad,
                        .now = Cycles(now),
                        .address_ready = Cycles(0),
                        .is_prefetch = true};
  if (!in_l3) {
    replace_entry(line, entry);
  } else if (directory.entry(entry).in_sets) {
    // What a prefetch does to a line that its reader would take was not measured: here both cores have it.
    resolve_conflicts(request, entry, false);
  }

  LineTransfer transfer = share(request, cpu, entry, vary_latency(fetch_cycles(cpu, line, entry, in_l3)));
  transfer.latency_cycles += wait_for_link(cpu, line, now, in_l3);
  const std::uint64_t arrival =
      into_l1 ? cpu.load_misses.take_buffer(start, transfer.latency_cycles) : start + transfer.latency_cycles;
  const std::uint64_t hot = note_transfer(request, entry, transfer);
  note_flight(cpu, entry, transfer, in_l3, now, arrival);
  const auto permission =
      static_cast<std::uint16_t>(cpu.mine(kReadable) | (transfer.exclusive ? cpu.mine(kWritable) : 0));
  const WayState state{arrival, permission, hot, 0, 0};
  const std::uint32_t l2_slot_now = insert_into_l2(core, line, state);
  if (into_l1)
    core.l1.put(slot, line, state.with_flags(permission | kPrefetched | PrivateCache::way_hint(l2_slot_now)));
  ++cpu.counts.prefetches;
}

void Prefetching::prefetch_from_l2(Cpu& cpu, LineAddr line, std::uint32_t l2_slot, std::uint64_t now) {
  if (!cpu.load_misses.has_free_buffer(now)) return;
  const WayState old = cpu.core->l2.state(l2_slot);
  const std::uint32_t slot = room_in_l1_for_prefetch(cpu, line);
  if (slot == kNoSlot) return;
  const std::uint64_t arrival =
      std::max<std::uint64_t>(old.arrival, cpu.load_misses.take_buffer(now, description.l2.latency_cycles));
  const std::uint64_t flags =
      (old.flags & (kPermissions | kDirty)) | kPrefetched | PrivateCache::way_hint(l2_slot);
  cpu.core->l1.put(slot, line, old.moved(arrival, flags));
  ++cpu.counts.prefetches;
}

bool Prefetching::may_prefetch(const Cpu& cpu, std::uint32_t entry, std::uint64_t now) {
  const Directory::Entry& line = directory.entry(entry);
  if (line.busy_until > now) return false;
  if (description.prefetch.snoops) return true;
  if (line.owner != kNoCpu && line.owner != cpu.id) return false;
  const ReadWriteSets* sets = directory.read_write_sets(entry);
  return !sets || sets->writer == kNoCpu || sets->writer == cpu.id;
}

std::uint32_t Prefetching::room_in_l1_for_prefetch(Cpu& cpu, LineAddr line) {
  Core& core = *cpu.core;
  const std::uint32_t slot = l1_victim(core, line);
  if (core.l1.empty(slot)) return slot;
  if (core.l1.state(slot).flags & kTransactional) return kNoSlot;
  evict_from_l1(core, slot);
  return slot;
}

/// While the line's page is being translated, prefetches wait for that.
std::uint64_t Prefetching::start_of_prefetch(const Request& request, const Cpu& cpu) const {
  const std::uint64_t now = request.now.value, page = request.line.value >> Tlb::kPageShift;
  return page == cpu.walked_page ? std::max(now, cpu.walk_ready) : now;
}

}  // namespace elision::machine
