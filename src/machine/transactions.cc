// SPDX-License-Identifier: Apache-2.0
// Hardware transactions: which lines they have read and written, and how they end.
//
// The write set lives in L1: losing a written line's L1 copy aborts. The read set lives in the
// directory and outlives L1. Conflicts are found by whoever asks the directory for a line
// (coherence.cc); here the requester has won.
#include <algorithm>

#include "machine/internals.h"

namespace elision::machine {

Cycles Model::Impl::begin(Cpu& one, Cycles now, bool always_abort) {
  Transaction& transaction = one.transaction;
  transaction.active = true;
  ++active_transactions;
  transaction.always_abort = always_abort;
  transaction.stores = one.stores.mark();
  transaction.line_count = 0;
  transaction.spurious = description.transactions.spurious_aborts_per_million != 0 &&
                         random.below(1'000'000) < description.transactions.spurious_aborts_per_million;
  ++one.counts.begins;
  if (always_abort) ++one.counts.always_abort_begins;

  // Epochs 1 to 65535; before they repeat, entries of long ago must go.
  const std::uint64_t epoch = transaction.begun++ % 65535 + 1;
  if (epoch == 1 && transaction.begun > 1) fast_path::forget_all(*one.filter, one.home->l1);
  one.filter->epoch = epoch << 48;
  return now + Cycles(vary(description.transactions.begin_cycles, description.jitter.transaction_percent));
}

/// A commit is ordered like a locked instruction (SDM Vol. 1, 17.3.6): besides the drain of the contract it
/// waits for outstanding loads.
Cycles Model::Impl::commit_time(Cpu& one, Cycles now) {
  const std::uint64_t cost =
      vary(description.transactions.commit_cycles, description.jitter.transaction_percent);
  const std::uint64_t worked = one.load_misses.advance(now.value);
  one.counts.reorder_buffer_stall_cycles += worked - now.value;
  const std::uint64_t ready = one.load_misses.all_ready(worked);
  one.load_misses.clear();
  const std::uint64_t when = std::max({now.value + cost, ready + cost, one.stores.drained()});
  hold_written_lines(one, when);
  return Cycles(when);
}

/// Stores reach L1 only as the transaction commits: from XEND on nobody can catch a written line in between,
/// and whoever wants it waits. What was read can be taken away, and the transaction with it, until the end.
void Model::Impl::hold_written_lines(Cpu& one, std::uint64_t until) {
  for (std::uint32_t i = 0; i < one.transaction.line_count; ++i) {
    const ReadWriteSets& sets = directory.read_write_sets_by_index(one.transaction.lines[i]);
    if (sets.writer != one.id) continue;
    Directory::Entry& line = directory.entry(sets.slot);
    if (line.busy_until <= until) line.busy_until = until + 1;
    line.shared_flight = 0;
    line.flight = one.id;
  }
}

void Model::Impl::finish_commit(Cpu& one) {
  end_transaction(one, false);
  ++one.counts.commits;
}

void Model::Impl::abort_own(Cpu& one, HardwareAbort cause) {
  end_transaction(one, true);
  ++one.counts.aborts[static_cast<unsigned>(cause)];
}

/// The reply to an access whose line would have to displace one that the CPU's own transaction needs.
Reply Model::Impl::aborted_for_room(const Request& request, Cpu& one) {
  abort_own(one, HardwareAbort::kCapacity);
  const Cycles clock = request.now + abort_cost();
  return {.verdict = Reply::Verdict::kAborted,
          .cause = HardwareAbort::kCapacity,
          .first_write_in_transaction = false,
          .clock = clock,
          .data_ready = clock,
          .performed = request.now};
}

void Model::Impl::abort_other(Cpu& victim, HardwareAbort cause, LineAddr line, CpuId requester, Cycles now) {
  abort_own(victim, cause);
  sink.on_abort(CpuId(victim.id), cause, line, requester, now);
}

namespace {

constexpr LineAddr kNoLine{~std::uint64_t{0}};

}  // namespace

/// The first line of [first, last] whose access conflicts with the transaction of `one`, or kNoLine.
LineAddr Model::Impl::conflicting_line(const Cpu& one, LineAddr first, LineAddr last, bool write) const {
  const Transaction& transaction = one.transaction;
  const bool reads_count = write && conflicts_end(one);
  for (std::uint32_t i = 0; i < transaction.line_count; ++i) {
    const ReadWriteSets& sets = directory.read_write_sets_by_index(transaction.lines[i]);
    if (sets.writer != one.id && !reads_count) continue;
    const LineAddr line = directory.line(sets.slot);
    if (line.value >= first.value && line.value <= last.value) return line;
  }
  if (!reads_count || transaction.read_filter.empty()) return kNoLine;
  constexpr std::uint64_t kMostLooks = 1u << 16;  // a filter with many members has one of so many anyway
  if (last.value - first.value >= kMostLooks) return first;
  for (std::uint64_t line = first.value; line <= last.value; ++line)
    if (transaction.read_filter.may_have(LineAddr(line))) return LineAddr(line);
  return kNoLine;
}

void Model::Impl::end_conflicting(LineAddr first, LineAddr last, bool write, Cycles now) {
  if (active_transactions == 0 || !description.conflict_detection) return;
  for (unsigned i = 0; i < cpu_count; ++i) {
    if (!cpu[i].transaction.active) continue;
    const LineAddr line = conflicting_line(cpu[i], first, last, write);
    if (line.value != kNoLine.value) abort_other(cpu[i], HardwareAbort::kConflict, line, CpuId(i), now);
  }
}

/// Takes the transaction out of the directory and L1. Lines that an aborted one wrote go; all others
/// become ordinary lines.
void Model::Impl::end_transaction(Cpu& one, bool aborted) {
  Transaction& transaction = one.transaction;
  transaction.active = false;
  --active_transactions;
  one.filter->epoch = 0;
  PrivateCache& l1 = one.home->l1;
  for (std::uint32_t i = 0; i < transaction.line_count; ++i) {
    ReadWriteSets& sets = directory.read_write_sets_by_index(transaction.lines[i]);
    const bool written = sets.writer == one.id;
    if (written) sets.writer = kNobody;
    sets.readers.clear(one.id);
    const std::uint32_t slot = l1.find(directory.line(sets.slot));
    if (slot != kNoSlot) {
      WayState& state = l1.state(slot);
      state.flags =
          static_cast<std::uint16_t>(state.flags & ~one.mine(kTransactionRead | kTransactionWritten));
      if (aborted && written) drop_aborted_line(one, slot);
    }
    directory.release_if_empty(sets);
  }
  transaction.line_count = 0;
  if (!transaction.read_filter.empty()) {
    transaction.read_filter.clear();
    read_filters_in_use.clear(one.id);
  }
  if (aborted) {
    // What it had under way is void: its loads, and the drain of its stores.
    one.load_misses.clear();
    one.stores.undo_to(transaction.stores);
  }
}

/// The L1 copy has contents that never were. Those from before the transaction are in L2 (join_sets wrote
/// them back), where the line stays with its permissions or not, as the machine has it.
void Model::Impl::drop_aborted_line(Cpu& one, std::uint32_t slot) {
  Core& at = *one.home;
  const LineAddr line = at.l1.line(slot);
  forget_in_filters(at, line, slot);
  const std::uint32_t l2_slot = at.l2.find(line);
  if (description.transactions.aborted_lines == AbortedLines::kLost) {
    if (l2_slot != kNoSlot) {
      // A store from before the transaction may still be on its way.
      Directory::Entry& entry = directory.entry(directory.find(line));
      const std::uint64_t visible = at.l2.state(l2_slot).stored_until;
      if (visible > entry.busy_until) note_store(entry, one, visible);
      at.l2.remove(l2_slot);
    }
  } else if (l2_slot == kNoSlot) {
    WayState state = at.l1.state(slot);
    state.flags &= kPermissions;
    state.take_store_of(WayState{});
    insert_into_l2(at, line, state);
  }
  at.l1.remove(slot);
}

/// Puts a line, in L1 slot `slot`, into the running transaction's read or write set. True if this is
/// its first write there.
bool Model::Impl::join_sets(Cpu& one, LineAddr line, std::uint32_t slot, std::uint32_t entry, bool write) {
  Core& home = *one.home;
  WayState& state = home.l1.state(slot);
  const std::uint16_t wanted = one.mine(write ? kTransactionWritten : kTransactionRead | kTransactionWritten);
  if (state.flags & wanted) return false;

  if (write && (state.flags & kDirty)) {
    // The contents from before the transaction must survive its abort, and so must the time of the last
    // store.
    const std::uint32_t l2_slot = home.l2.find(line);
    if (l2_slot != kNoSlot) {
      home.l2.state(l2_slot).flags |= kDirty;
      home.l2.state(l2_slot).take_store_of(state);
    } else {
      WayState copy = state;
      copy.flags &= kPermissions | kDirty;
      insert_into_l2(home, line, copy);
    }
  }
  state.flags |= one.mine(write ? kTransactionWritten : kTransactionRead);
  if (entry == kNoSlot) entry = directory.find(line);
  ReadWriteSets& sets = directory.make_read_write_sets(entry);
  Transaction& transaction = one.transaction;
  if (!sets.has(one.id)) {
    transaction.lines[transaction.line_count++] = directory.read_write_sets_index(entry);
  }
  if (write) {
    sets.writer = one.id;
  } else {
    sets.readers.set(one.id);
  }
  return write;
}

/// The transaction no longer watches a line that it has in its sets (conflict detection is off, or of a kind
/// that ignores this). A search, because only tests and wished-for machines do this.
void Model::Impl::leave_sets(Cpu& one, ReadWriteSets& sets) {
  Transaction& transaction = one.transaction;
  const std::uint32_t index = directory.read_write_sets_index(sets.slot);
  for (std::uint32_t i = 0; i < transaction.line_count; ++i) {
    if (transaction.lines[i] != index) continue;
    transaction.lines[i] = transaction.lines[--transaction.line_count];
    break;
  }
  PrivateCache& l1 = one.home->l1;
  if (const std::uint32_t slot = l1.find(directory.line(sets.slot)); slot != kNoSlot) {
    WayState& state = l1.state(slot);
    forget_in_filters(*one.home, l1.line(slot), slot);
    state.flags = static_cast<std::uint16_t>(state.flags & ~one.mine(kTransactionRead | kTransactionWritten));
  }
  if (sets.writer == one.id) sets.writer = kNobody;
  sets.readers.clear(one.id);
  directory.release_if_empty(sets);
}

bool Model::Impl::aborts_on_eviction_of_read_line(const Cpu& one, ReadEviction level) const {
  const ReadEviction limit =
      one.transaction.always_abort ? description.always_abort.abort_on_read_eviction : ReadEviction::kL3;
  return limit == level || (limit == ReadEviction::kL1 && level == ReadEviction::kL3);
}

Cycles Model::Impl::abort_cost() {
  return Cycles(vary(description.transactions.abort_cycles, description.jitter.transaction_percent));
}

}  // namespace elision::machine
