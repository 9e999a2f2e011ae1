// SPDX-License-Identifier: Apache-2.0
// Early requests: requests for lines that no access waits for.
//
// A core that waits for a line goes on within its reorder window, and asks for the lines that it needs next.
// The model's CPU stands still meanwhile, so it does not know those lines. In the most important case it
// does: a transaction that tries again touches the lines of the try before. At its begin the core therefore
// reads those lines of the first reorder window that it has, and asks for the others. Such a request gets
// there later, like an access that waits (Coherence::travel), and ends the transactions that it conflicts
// with. It arrives even if its own transaction has been aborted meanwhile.
//
// Two transactions with two common lines therefore go on aborting each other (mutual_aborts in
// repro/silicon): each has one line, asks for the other one, and aborts. With accesses alone, the first of
// the two requests would find that the other CPU waits and has read nothing yet.
//
// The CPU's next transaction counts as another try of the aborted one, unless the CPU executes an atomic
// outside of a transaction in between: then it has taken the lock.
#include <algorithm>

#include "machine/access.h"

namespace elision::machine {

void Access::repeat_first_lines(Cpu& cpu, Cycles now) {
  FirstLines& first = cpu.first_lines;
  first.begin_work = cpu.load_misses.work(now.value);
  for (unsigned i = 0; i < first.count; ++i) {
    const FirstLines::Touch& touch = first.touches[i];
    if (touch.after > cpu.load_misses.window()) continue;
    const std::uint64_t when = now.value + touch.after;
    Core& core = *cpu.core;
    std::uint32_t slot = core.l1.find(touch.line);
    if (slot == kNoSlot) {
      const std::uint32_t l2_slot = core.l2.find(touch.line);
      if (l2_slot != kNoSlot && (core.l2.state(l2_slot).flags & cpu.mine(kReadable))) {
        prefetch_from_l2(cpu, touch.line, l2_slot, when);
        slot = core.l1.find(touch.line);
      }
    }
    const std::uint16_t flags = slot != kNoSlot ? core.l1.state(slot).flags : 0;
    if (flags & cpu.mine(kReadable)) join_sets(cpu, touch.line, slot, kNoSlot, false);
    if (flags & cpu.mine(touch.written ? kWritable : kReadable)) continue;
    const std::uint32_t entry = directory.find(touch.line);
    if (entry == kNoSlot || !is_elsewhere(cpu, entry, touch.written)) continue;
    const std::uint64_t way =
        vary_part(description.coherence.request_cycles, description.coherence.dirty_transfer_cycles);
    request_early(cpu, {touch.line, touch.written ? AccessKind::kStore : AccessKind::kLoad, when + way, way});
  }
}

/// Returns when the early request for the line of this access arrives, or 0 if none is on its way. The access
/// waits until then and looks again.
std::uint64_t Access::wait_for_early_request(const Request& request, Cpu& cpu) {
  EarlyRequest* const early = cpu.early.find(request.line);
  if (early == nullptr) return 0;
  const std::uint64_t now = request.now.value;
  if (early->due <= now) return 0;
  cpu.load_misses.idle(early->due - now);
  return early->due;
}

void Access::arrive() {
  Cpu* first = nullptr;
  unsigned at = 0;
  for (CpuMask some = early_requesters; !some.empty(); some.clear(some.first())) {
    Cpu& cpu = cpus[some.first()];
    for (unsigned i = 0; i < cpu.early.count; ++i) {
      if (first != nullptr && cpu.early.requests[i].due >= first->early.requests[at].due) continue;
      first = &cpu;
      at = i;
    }
  }
  if (first == nullptr) return;
  const EarlyRequest early = first->early.requests[at];
  first->early.remove(first->early.requests[at]);
  take_early(*first, early);
  set_next_arrival();
}

void Access::set_next_arrival() {
  next_arrival = kNever;
  CpuMask some = early_requesters;
  for (; !some.empty(); some.clear(some.first())) {
    const Cpu& cpu = cpus[some.first()];
    if (cpu.early.count == 0) early_requesters.clear(cpu.id);
    for (unsigned i = 0; i < cpu.early.count; ++i)
      next_arrival = std::min(next_arrival, Cycles(cpu.early.requests[i].due));
  }
}

void Access::forget_tries() {
  for (unsigned i = 0; i < cpu_count; ++i) {
    cpus[i].early.count = 0;
    cpus[i].first_lines.again = false;
  }
  set_next_arrival();
}

/// Serves a request at its due time. Postpones it while the line is on its way to another CPU, and drops it
/// if L1 has no room for the line.
void Access::take_early(Cpu& cpu, const EarlyRequest& early) {
  const Request request{.cpu = CpuId(cpu.id),
                        .line = early.line,
                        .kind = early.kind,
                        .now = Cycles(early.due),
                        .address_ready = Cycles(0),
                        .is_early = true};
  const std::uint64_t now = early.due;
  Core& core = *cpu.core;
  // Once its commit has begun, a transaction reads nothing any more.
  const bool joins = cpu.transaction.active && cpu.first_lines.again && cpu.transaction.commit_end == 0;
  Place place{.entry = directory.use(early.line),
              .l1_slot = core.l1.find(early.line),
              .l2_slot = core.l2.find(early.line)};
  if (place.entry == kNoSlot) return;
  place.in_l3 = true;
  const std::uint16_t needed = cpu.mine(early.kind == AccessKind::kLoad ? kReadable : kWritable);
  if (place.l1_slot != kNoSlot && (core.l1.state(place.l1_slot).flags & needed)) {
    if (joins) join_sets(cpu, early.line, place.l1_slot, place.entry, false);
    return;
  }
  std::uint64_t until = 0;
  if (must_queue(request, cpu, place.entry, until)) {
    EarlyRequest later = early;
    later.due = until + description.coherence.request_cycles / 2;
    request_early(cpu, later);
    return;
  }
  if (until != 0) return;  // the line is on its way to this CPU
  place.takes = takes_line(request, cpu, place.entry);
  if (!make_room(request, cpu, place)) return;
  std::uint64_t hot_until;
  const CpuCounts before = cpu.counts;
  LineTransfer transfer = transfer_line(request, cpu, place, hot_until);
  cpu.counts = before;  // the counts are of accesses, and this is none
  const std::uint64_t arrival =
      now + transfer.latency_cycles - std::min(transfer.latency_cycles, early.spent);
  grant(cpu, place, transfer, arrival, hot_until);
  note_flight(cpu, place.entry, transfer, early.kind == AccessKind::kLoad, now, arrival);
  if (joins) join_sets(cpu, early.line, place.l1_slot, place.entry, false);
}

}  // namespace elision::machine
