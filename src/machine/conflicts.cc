// SPDX-License-Identifier: Apache-2.0
// The transactions that an access ends: those that it conflicts with, and those that need a line that it
// evicts.
#include "machine/transactions.h"

namespace elision::machine {

/// The first line of [first, last] whose access conflicts with the transaction of `cpu`, or kNoLine.
LineAddr Transactions::conflicting_line(const Cpu& cpu, LineAddr first, LineAddr last, bool write) const {
  const Transaction& transaction = cpu.transaction;
  const bool reads_count = write && conflicts_end(cpu);
  for (std::uint32_t i = 0; i < transaction.line_count; ++i) {
    const ReadWriteSets& sets = directory.read_write_sets_by_index(transaction.lines[i]);
    if (sets.writer != cpu.id && !reads_count) continue;
    const LineAddr line = directory.line(sets.slot);
    if (line.value >= first.value && line.value <= last.value) return line;
  }
  if (!reads_count || transaction.read_filter.empty()) return kNoLine;
  constexpr std::uint64_t kMostLooks = 1u << 16;  // among so many lines a filter almost certainly has one
  if (last.value - first.value >= kMostLooks) return first;
  for (std::uint64_t line = first.value; line <= last.value; ++line)
    if (transaction.read_filter.may_have(LineAddr(line))) return LineAddr(line);
  return kNoLine;
}

void Transactions::end_conflicting(LineAddr first, LineAddr last, bool write, Cycles now) {
  if (active_transactions == 0 || !description.conflict_detection) return;
  for (unsigned i = 0; i < cpu_count; ++i) {
    if (!cpus[i].transaction.active) continue;
    const LineAddr line = conflicting_line(cpus[i], first, last, write);
    const AccessKind kind = write ? AccessKind::kStore : AccessKind::kLoad;
    if (line.value != kNoLine.value)
      abort_other(cpus[i], HardwareAbort::kConflict, line, {CpuId(i), line, kind, now, Cycles(0)});
  }
}

/// Takes a line out of the transaction's sets without an abort: conflict detection is off, or the transaction
/// does not detect such conflicts. A linear search, because only tests and hypothetical machines need it.
void Transactions::leave_sets(Cpu& cpu, ReadWriteSets& sets) {
  Transaction& transaction = cpu.transaction;
  const std::uint32_t index = directory.read_write_sets_index(sets.slot);
  for (std::uint32_t i = 0; i < transaction.line_count; ++i) {
    if (transaction.lines[i] != index) continue;
    transaction.lines[i] = transaction.lines[--transaction.line_count];
    break;
  }
  PrivateCache& l1 = cpu.core->l1;
  if (const std::uint32_t slot = l1.find(directory.line(sets.slot)); slot != kNoSlot) {
    WayState& state = l1.state(slot);
    forget_in_filters(*cpu.core, l1.line(slot), slot);
    state.flags = static_cast<std::uint16_t>(state.flags & ~cpu.mine(kTransactionRead | kTransactionWritten));
  }
  if (sets.writer == cpu.id) {
    sets.writer = kNoCpu;
    --transaction.written_lines;
  }
  sets.readers.clear(cpu.id);
  directory.release_if_empty(sets);
}

bool Transactions::aborts_on_eviction_of_read_line(const Cpu& cpu, ReadEviction level) const {
  const ReadEviction limit =
      cpu.transaction.always_abort ? description.always_abort.abort_on_read_eviction : ReadEviction::kL3;
  return limit == level || (limit == ReadEviction::kL1 && level == ReadEviction::kL3);
}

bool Transactions::takes_line(const Request& request, const Cpu& cpu, std::uint32_t entry) const {
  if (request.kind != AccessKind::kLoad) return true;
  if (!description.coherence.loads_take_modified || entry == kNoSlot) return false;
  const unsigned owner = directory.entry(entry).owner;
  if (owner == kNoCpu || cpus[owner].core == cpu.core) return false;
  const Core& core = *cpus[owner].core;
  const auto is_modified_in = [&](const PrivateCache& cache) {
    const std::uint32_t slot = cache.find(request.line);
    return slot != kNoSlot && (cache.state(slot).flags & kDirty);
  };
  return is_modified_in(core.l1) || is_modified_in(core.l2);
}

bool Transactions::conflicts_with_other_core(const Request& request, const Cpu& cpu,
                                             std::uint32_t entry) const {
  const auto elsewhere = [&](unsigned other) { return other != kNoCpu && cpus[other].core != cpu.core; };
  const bool only_reads = !takes_line(request, cpu, entry);
  if (const ReadWriteSets* sets = entry != kNoSlot ? directory.read_write_sets(entry) : nullptr) {
    if (elsewhere(sets->writer)) return true;
    if (only_reads) return false;
    for (CpuMask readers = sets->readers; !readers.empty(); readers.clear(readers.first()))
      if (elsewhere(readers.first()) && conflicts_end(cpus[readers.first()])) return true;
  }
  if (only_reads) return false;
  for (CpuMask others = read_filters_in_use; !others.empty(); others.clear(others.first())) {
    const unsigned other = others.first();
    if (elsewhere(other) && conflicts_end(cpus[other]) &&
        cpus[other].transaction.read_filter.may_have(request.line))
      return true;
  }
  return false;
}

/// Whether the transaction notices that another CPU takes a line of its sets, or shares one that it wrote.
bool Transactions::detects_conflict(const Cpu& cpu, const ReadWriteSets& sets, bool takes) const {
  if (!cpu.transaction.always_abort) return true;
  if (sets.writer == cpu.id && description.always_abort.detects_write_conflicts) return true;
  return takes && sets.readers.has(cpu.id) && description.always_abort.detects_read_conflicts;
}

/// Another CPU takes or shares a line that the transaction has written, which goes on without what it wrote
/// there. If the line is only shared, the transaction still has what it read of it in its read set.
void Transactions::lose_write(Cpu& cpu, ReadWriteSets& sets, bool takes) {
  Core& core = *cpu.core;
  const LineAddr line = directory.line(sets.slot);
  const bool stays_read = !takes && sets.readers.has(cpu.id);
  if (stays_read) {
    sets.writer = kNoCpu;
    --cpu.transaction.written_lines;
  } else {
    leave_sets(cpu, sets);
  }
  if (std::uint32_t slot = core.l1.find(line); slot != kNoSlot) {
    drop_aborted_line(cpu, slot);
    slot = core.l1.find(line);
    if (stays_read && slot != kNoSlot) {
      WayState& state = core.l1.state(slot);
      state.flags = static_cast<std::uint16_t>(state.flags | cpu.mine(kTransactionRead));
    } else if (stays_read) {
      note_read_lines(core, line, cpu.mine(kTransactionRead));
    }
  }
  sink.on_lost_line(CpuId(cpu.id), line);
}

void Transactions::resolve_conflicts(const Request& request, std::uint32_t entry, bool takes) {
  const unsigned requester = request.cpu.value;
  while (ReadWriteSets* sets = directory.read_write_sets(entry)) {
    unsigned victim = sets->writer;
    if (victim == kNoCpu || victim == requester) {
      const CpuMask others = sets->readers.without(requester);
      if (!takes || others.empty()) return;
      victim = others.first();
    }
    if (description.conflict_detection && detects_conflict(cpus[victim], *sets, takes)) {
      abort_other(cpus[victim], HardwareAbort::kConflict, request.line, request);
    } else if (description.conflict_detection && victim == sets->writer) {
      lose_write(cpus[victim], *sets, takes);
    } else {
      leave_sets(cpus[victim], *sets);
    }
  }
}

void Transactions::resolve_false_conflicts(const Request& request) {
  for (CpuMask others = read_filters_in_use.without(request.cpu.value); !others.empty();) {
    Cpu& victim = cpus[others.first()];
    others.clear(victim.id);
    if (!conflicts_end(victim) || !victim.transaction.read_filter.may_have(request.line)) continue;
    ++victim.counts.false_conflicts;
    abort_other(victim, HardwareAbort::kConflict, request.line, request);
  }
}

[[gnu::always_inline]] inline std::uint32_t Transactions::make_room_in_l1(const Request& request, Cpu& cpu) {
  Core& core = *cpu.core;
  const std::uint32_t slot = l1_victim(core, request.line);
  if (core.l1.empty(slot)) return slot;
  if (core.l1.state(slot).flags & kTransactional) {
    if (!end_transactions_of_victim(request, cpu, slot)) return kNoSlot;
    if (core.l1.empty(slot)) return slot;
    note_read_lines(core, core.l1.line(slot), core.l1.state(slot).flags);
  }
  evict_from_l1(core, slot);
  return slot;
}

/// Ends the transactions of siblings that need the L1 copy in `slot`. False if the requester's own needs it.
bool Transactions::end_transactions_of_victim(const Request& request, Cpu& cpu, std::uint32_t slot) {
  PrivateCache& l1 = cpu.core->l1;
  const std::uint16_t flags = l1.state(slot).flags;
  const LineAddr old = l1.line(slot);
  const auto needs_it = [&](const Cpu& who) {
    if (!who.transaction.active) return false;
    if (flags & who.mine(kTransactionWritten)) return true;
    return (flags & who.mine(kTransactionRead)) && aborts_on_eviction_of_read_line(who, ReadEviction::kL1);
  };
  if (needs_it(cpu)) return false;
  cpu.core->for_each_thread([&](Cpu& sibling) {
    if (&sibling == &cpu || !needs_it(sibling)) return;
    abort_other(sibling, HardwareAbort::kCapacity, old, request);
  });
  return true;
}

/// The line leaves L1. Transactions that have read it, and go on, put it into their read filters.
void Transactions::note_read_lines(Core& core, LineAddr line, std::uint16_t flags) {
  core.for_each_thread([&](Cpu& cpu) {
    if (!cpu.transaction.active || !(flags & cpu.mine(kTransactionRead))) return;
    cpu.transaction.read_filter.add(line);
    if (!cpu.transaction.read_filter.empty()) read_filters_in_use.set(cpu.id);
  });
}

bool Transactions::end_transactions_of_evicted(const Request& request, Cpu& cpu, std::uint32_t entry) {
  const auto needs_it = [&](const ReadWriteSets& sets, const Cpu& who) {
    return sets.writer == who.id || aborts_on_eviction_of_read_line(who, ReadEviction::kL3);
  };
  ReadWriteSets* sets = directory.read_write_sets(entry);
  if (sets && sets->has(cpu.id) && needs_it(*sets, cpu)) return false;
  const LineAddr old = directory.line(entry);
  while ((sets = directory.read_write_sets(entry))) {
    Cpu& who = cpus[sets->writer != kNoCpu ? sets->writer : sets->readers.first()];
    if (needs_it(*sets, who)) {
      abort_other(who, HardwareAbort::kCapacity, old, request);
    } else {
      leave_sets(who, *sets);
    }
  }
  return true;
}

}  // namespace elision::machine
