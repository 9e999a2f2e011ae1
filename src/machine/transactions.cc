// SPDX-License-Identifier: Apache-2.0
// Hardware transactions: their begin and end, and their read and write sets.
//
// The write set lives in L1: a transaction that loses the L1 copy of a written line aborts. The read set
// lives in the directory and outlives L1.
#include "machine/transactions.h"

#include <algorithm>

#include "machine/fast_path.h"
#include "machine/replies.h"

namespace elision::machine {

/// Of the work since the commit, a window's worth was done during it.
Cycles Transactions::begin_of_work(Cpu& cpu, Cycles now) const {
  const LastWait wait = cpu.last_wait;
  cpu.last_wait = {};
  if (!wait.commit || now.value < wait.end) return now;
  return Cycles(std::max(wait.end, now.value - std::min(wait.length, cpu.load_misses.window())));
}

Cycles Transactions::begin(Cpu& cpu, Cycles now, bool always_abort) {
  Transaction& transaction = cpu.transaction;
  transaction.active = true;
  ++active_transactions;
  transaction.always_abort = always_abort;
  transaction.stores = cpu.stores.mark();
  transaction.line_count = 0;
  transaction.written_lines = 0;
  transaction.commit_end = 0;
  transaction.spurious = description.transactions.spurious_aborts_per_million != 0 &&
                         random.below(1'000'000) < description.transactions.spurious_aborts_per_million;
  cpu.last_wait = {};
  if (!cpu.first_lines.again) cpu.first_lines.count = 0;
  ++cpu.counts.begins;
  if (always_abort) ++cpu.counts.always_abort_begins;

  // Epochs are 1 to 65535. Before they repeat, the filter must lose its old entries.
  const std::uint64_t epoch = transaction.begun++ % 65535 + 1;
  if (epoch == 1 && transaction.begun > 1) fast_path::forget_all(*cpu.filter, cpu.core->l1);
  cpu.filter->epoch = epoch << 48;
  return now + Cycles(vary(description.transactions.begin_cycles, description.jitter.transaction_percent));
}

/// A commit is ordered like a locked instruction (SDM Vol. 1, 17.3.6): it also waits for outstanding loads.
Cycles Transactions::begin_commit(Cpu& cpu, Cycles now) {
  const auto& costs = description.transactions;
  const std::uint64_t cost =
      vary(costs.commit_cycles + std::uint64_t{costs.commit_line_cycles} * cpu.transaction.written_lines,
           description.jitter.transaction_percent);
  const std::uint64_t worked = cpu.load_misses.advance(now.value);
  cpu.counts.reorder_buffer_stall_cycles += worked - now.value;
  const std::uint64_t ready = cpu.load_misses.all_ready(worked);
  cpu.load_misses.clear();
  const std::uint64_t when = std::max({now.value + cost, ready + cost, cpu.stores.drained()});
  cpu.transaction.commit_end = when;
  cpu.last_wait = {.end = when, .length = when - std::min(when, cpu.settling_since), .commit = true};
  const std::uint64_t held = std::min<std::uint64_t>(when, costs.commit_hold_cycles);
  return Cycles(std::max(now.value, when - held));
}

/// The transaction's stores become visible at the end of the commit, all at once. In its last cycles other
/// CPUs wait for the written lines. They can still take a line that was only read, which aborts the
/// transaction.
Cycles Transactions::hold_written_lines(Cpu& cpu) {
  const std::uint64_t until = cpu.transaction.commit_end;
  for (std::uint32_t i = 0; i < cpu.transaction.line_count; ++i) {
    const ReadWriteSets& sets = directory.read_write_sets_by_index(cpu.transaction.lines[i]);
    if (sets.writer != cpu.id) continue;
    Directory::Entry& line = directory.entry(sets.slot);
    line.prolong(until + 1);
    line.shared_flight = 0;
    line.flight = cpu.id;
  }
  return Cycles(until);
}

void Transactions::finish_commit(Cpu& cpu) {
  end_transaction(cpu, false);
  cpu.first_lines.again = false;
  ++cpu.counts.commits;
}

void Transactions::abort_own(Cpu& cpu, HardwareAbort cause, Cycles now) {
  leave_request_on_its_way(cpu, now);
  end_transaction(cpu, true);
  cpu.first_lines.again = true;
  ++cpu.counts.aborts[static_cast<unsigned>(cause)];
}

Reply Transactions::aborted_by(const Request& request, Cpu& cpu, HardwareAbort cause) {
  abort_own(cpu, cause, request.now);
  const Cycles clock = request.now + abort_cost();
  return {.verdict = Reply::Verdict::kAborted,
          .cause = cause,
          .first_write_in_transaction = false,
          .clock = clock,
          .data_ready = clock,
          .performed = request.now};
}

void Transactions::abort_other(Cpu& victim, HardwareAbort cause, LineAddr line, const Request& request) {
  const Cycles resume = request.now + abort_cost();
  hold_lines_of_aborted(victim, line, resume);
  abort_own(victim, cause, request.now);
  sink.on_abort({.victim = CpuId(victim.id),
                 .cause = cause,
                 .line = line,
                 .requester = request.cpu,
                 .by_prefetch = request.is_prefetch,
                 .by_early_request = request.is_early,
                 .writes = request.kind != AccessKind::kLoad,
                 .now = request.now,
                 .resume = resume});
}

/// The transaction is ended from outside. The core gives no other line of it away until it has rolled back:
/// requests for them wait. This is not documented, but explains why two transactions go on aborting each
/// other if they have two common lines, and not if they have one (mutual_aborts in repro/silicon): the second
/// line comes so late that the aborted transaction takes the first one back before the other one commits.
void Transactions::hold_lines_of_aborted(Cpu& victim, LineAddr taken, Cycles until) {
  for (std::uint32_t i = 0; i < victim.transaction.line_count; ++i) {
    const ReadWriteSets& sets = directory.read_write_sets_by_index(victim.transaction.lines[i]);
    Directory::Entry& line = directory.entry(sets.slot);
    if (line.owner == victim.id && !(directory.line(sets.slot) == taken))
      line.note_store(victim.id, until.value);
  }
}

/// Takes the transaction out of the directory and L1. What an aborted transaction wrote is dropped. All its
/// lines become ordinary ones.
void Transactions::end_transaction(Cpu& cpu, bool aborted) {
  Transaction& transaction = cpu.transaction;
  transaction.active = false;
  --active_transactions;
  cpu.filter->epoch = 0;
  PrivateCache& l1 = cpu.core->l1;
  for (std::uint32_t i = 0; i < transaction.line_count; ++i) {
    ReadWriteSets& sets = directory.read_write_sets_by_index(transaction.lines[i]);
    const bool written = sets.writer == cpu.id;
    if (written) sets.writer = kNoCpu;
    sets.readers.clear(cpu.id);
    const std::uint32_t slot = l1.find(directory.line(sets.slot));
    if (slot != kNoSlot) {
      WayState& state = l1.state(slot);
      state.flags =
          static_cast<std::uint16_t>(state.flags & ~cpu.mine(kTransactionRead | kTransactionWritten));
      if (aborted && written) drop_aborted_line(cpu, slot);
    }
    directory.release_if_empty(sets);
  }
  transaction.line_count = 0;
  if (!transaction.read_filter.empty()) {
    transaction.read_filter.clear();
    read_filters_in_use.clear(cpu.id);
  }
  if (aborted) {
    cpu.last_wait = {};
    cpu.atomic_line = cpu.journey.line = kNoLine;
    // Its outstanding loads and the drains of its stores are void.
    cpu.load_misses.clear();
    cpu.stores.undo_to(transaction.stores);
  }
}

/// The L1 copy has contents that were never committed. Those from before the transaction are in L2, because
/// join_sets wrote them back. The machine description says where the line remains (AbortedLines).
void Transactions::drop_aborted_line(Cpu& cpu, std::uint32_t slot) {
  Core& core = *cpu.core;
  const LineAddr line = core.l1.line(slot);
  forget_in_filters(core, line, slot);
  const std::uint32_t l2_slot = core.l2.find(line);
  // A store from before the transaction may not be visible yet.
  const WayState before = l2_slot != kNoSlot ? core.l2.state(l2_slot) : WayState{};
  WayState restored = core.l1.state(slot);
  restored.flags &= kPermissions;
  restored.take_store_of(before);
  switch (description.transactions.aborted_lines) {
    case AbortedLines::kInL1:
      core.l1.state(slot) = restored;
      return;
    case AbortedLines::kInL2:
      if (l2_slot == kNoSlot) insert_into_l2(core, line, restored);
      break;
    case AbortedLines::kLost:
      if (l2_slot == kNoSlot) break;
      Directory::Entry& entry = directory.entry(directory.find(line));
      if (before.stored_until > entry.busy_until) entry.note_store(cpu.id, before.stored_until);
      core.l2.remove(l2_slot);
  }
  core.l1.remove(slot);
}

/// Records that the transaction touches `line` at `now`, if it is one of its first lines.
void Transactions::note_first_line(Cpu& cpu, LineAddr line, Cycles now, bool write) {
  FirstLines& first = cpu.first_lines;
  for (unsigned i = 0; i < first.count; ++i) {
    if (!(first.touches[i].line == line)) continue;
    first.touches[i].written = first.touches[i].written || write;
    return;
  }
  if (first.count == FirstLines::kMost) return;
  first.touches[first.count++] = {line, cpu.load_misses.work(now.value) - first.begin_work, write};
}

/// The transaction of `cpu` aborts at `now`. If one of its accesses waits for a request that travels, the
/// request goes on as an early one.
void Transactions::leave_request_on_its_way(Cpu& cpu, Cycles now) {
  const Journey& journey = cpu.journey;
  if (journey.at == Journey::At::kNowhere || journey.line == kNoLine || journey.due <= now.value) return;
  const std::uint64_t rest = journey.at == Journey::At::kHome ? description.coherence.request_cycles / 2 : 0;
  request_early(cpu, {journey.line, journey.kind, journey.due + rest, journey.spent + rest});
}

void Transactions::request_early(Cpu& cpu, const EarlyRequest& request) {
  if (cpu.early.count == EarlyRequests::kMost || cpu.early.find(request.line) != nullptr) return;
  cpu.early.requests[cpu.early.count++] = request;
  early_requesters.set(cpu.id);
  next_arrival = std::min(next_arrival, Cycles(request.due));
}

bool Transactions::join_sets(Cpu& cpu, LineAddr line, std::uint32_t slot, std::uint32_t entry, bool write) {
  Core& core = *cpu.core;
  WayState& state = core.l1.state(slot);
  const std::uint16_t wanted = cpu.mine(write ? kTransactionWritten : kTransactionRead | kTransactionWritten);
  if (state.flags & wanted) return false;

  if (write && (state.flags & kDirty)) {
    // The contents from before the transaction and the time of its last store must survive an abort.
    const std::uint32_t l2_slot = core.l2.find(line);
    if (l2_slot != kNoSlot) {
      core.l2.state(l2_slot).flags |= kDirty;
      core.l2.state(l2_slot).take_store_of(state);
    } else {
      WayState copy = state;
      copy.flags &= kPermissions | kDirty;
      insert_into_l2(core, line, copy);
    }
  }
  state.flags |= cpu.mine(write ? kTransactionWritten : kTransactionRead);
  if (entry == kNoSlot) entry = directory.find(line);
  ReadWriteSets& sets = directory.make_read_write_sets(entry);
  Transaction& transaction = cpu.transaction;
  if (!sets.has(cpu.id)) {
    transaction.lines[transaction.line_count++] = directory.read_write_sets_index(entry);
  }
  if (write) {
    ++transaction.written_lines;
    sets.writer = cpu.id;
  } else {
    sets.readers.set(cpu.id);
  }
  return write;
}

Cycles Transactions::abort_cost() {
  return Cycles(vary(description.transactions.abort_cycles, description.jitter.transaction_percent));
}

}  // namespace elision::machine
