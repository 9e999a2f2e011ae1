// SPDX-License-Identifier: Apache-2.0
// Checks, for tests, that the model's tables agree with each other. Slow.
#include "machine/invariants.h"

#include <algorithm>
#include <span>

namespace elision::machine {

namespace {

/// Inclusion; single writer; readers are sharers; L1 and L2 agree on permissions.
const char* check_caches(const State& state) {
  for (unsigned i = 0; i < state.core_count; ++i) {
    for (const PrivateCache* cache : {&state.cores[i].l1, &state.cores[i].l2}) {
      for (std::uint32_t slot = 0; slot < cache->slots(); ++slot) {
        if (cache->empty(slot)) continue;
        const LineAddr line = cache->line(slot);
        if (cache->find(line) != slot) return "a line is in a cache twice, or in the wrong set";
        const std::uint32_t entry = state.directory.find(line);
        if (entry == kNoSlot) return "a private cache has a line that L3 does not have";
        if (!(state.directory.line(entry) == line))
          return "the directory cannot tell which line an entry is for";
        const std::uint16_t flags = cache->state(slot).flags;
        if (!(flags & kPermissions)) return "a line is cached without any permission";
        const std::uint32_t other = state.cores[i].l2.find(line);
        if (other != kNoSlot &&
            (state.cores[i].l2.state(other).flags & kPermissions) != (flags & kPermissions)) {
          return "L1 and L2 of a core disagree on permissions";
        }
        for (const Cpu* cpu : std::span(state.cores[i].threads, state.cores[i].thread_count)) {
          if ((flags & cpu->mine(kReadable)) && !state.directory.sharers(entry).has(cpu->id)) {
            return "a CPU may read a line without being a sharer";
          }
          if (flags & cpu->mine(kWritable)) {
            if (state.directory.entry(entry).owner != cpu->id)
              return "a CPU may write a line without being its owner";
            if (!(state.directory.sharers(entry) == CpuMask::of(cpu->id)))
              return "an owned line has other sharers";
          }
        }
      }
    }
  }
  for (std::uint32_t entry = 0; entry < state.directory.slots(); ++entry) {
    if (state.directory.empty(entry)) {
      if (state.directory.read_write_sets(entry))
        return "an empty directory entry is in a transaction's sets";
      continue;
    }
    const unsigned owner = state.directory.entry(entry).owner;
    if (owner != kNoCpu && !state.directory.sharers(entry).has(owner)) return "an owner is not a sharer";
  }
  return nullptr;
}

/// Read and write sets in the directory, the transactions' lists and L1's flags agree, and no other CPU owns
/// a line of a set.
const char* check_transactions(const State& state) {
  std::uint64_t members = 0, listed = 0;
  for (std::uint32_t entry = 0; entry < state.directory.slots(); ++entry) {
    const ReadWriteSets* sets = state.directory.read_write_sets(entry);
    if (!sets) continue;
    if (sets->slot != entry) return "read and write sets belong to another entry";
    if (sets->empty()) return "read and write sets without a transaction were not released";
    const LineAddr line = state.directory.line(entry);
    const unsigned owner = state.directory.entry(entry).owner;
    for (unsigned i = 0; i < state.cpu_count; ++i) {
      if (!sets->has(i)) continue;
      ++members;
      if (!state.cpus[i].transaction.active) return "a line is in the sets of a transaction that has ended";
      if (owner != kNoCpu && owner != i) return "a line in a transaction's sets is owned by another CPU";
    }
    if (sets->writer == kNoCpu) continue;
    const Cpu& writer = state.cpus[sets->writer];
    if (!sets->readers.without(writer.id).empty())
      return "a line is in a write set and in another's read set";
    const std::uint32_t slot = writer.core->l1.find(line);
    if (slot == kNoSlot) return "a line of a write set is not in L1";
    if (!(writer.core->l1.state(slot).flags & writer.mine(kTransactionWritten))) {
      return "a line of a write set is not flagged in L1";
    }
  }
  for (unsigned i = 0; i < state.cpu_count; ++i) {
    const Transaction& transaction = state.cpus[i].transaction;
    if (!transaction.active && transaction.line_count != 0)
      return "lines listed for a transaction that has ended";
    listed += transaction.line_count;
  }
  if (members != listed) return "the directory and the lists of the transactions differ";
  for (unsigned i = 0; i < state.core_count; ++i) {
    for (std::uint32_t slot = 0; slot < state.cores[i].l1.slots(); ++slot) {
      if (state.cores[i].l1.empty(slot)) continue;
      for (const Cpu* cpu : std::span(state.cores[i].threads, state.cores[i].thread_count)) {
        if (!(state.cores[i].l1.state(slot).flags & cpu->mine(kTransactionRead | kTransactionWritten)))
          continue;
        const ReadWriteSets* sets =
            state.directory.read_write_sets(state.directory.find(state.cores[i].l1.line(slot)));
        if (!sets || !sets->has(cpu->id)) return "L1 flags a line for a transaction that does not have it";
      }
    }
  }
  return nullptr;
}

const char* check_early_requests(const State& state) {
  Cycles next = kNever;
  for (unsigned i = 0; i < state.cpu_count; ++i) {
    const EarlyRequests& early = state.cpus[i].early;
    if (early.count != 0 && !state.early_requesters.has(i)) return "a CPU with early requests is not listed";
    for (unsigned at = 0; at < early.count; ++at) {
      next = std::min(next, Cycles(early.requests[at].due));
      for (unsigned other = 0; other < at; ++other)
        if (early.requests[other].line == early.requests[at].line) return "a line is requested early twice";
    }
  }
  return next == state.next_arrival ? nullptr : "the next arrival is not that of the first early request";
}

/// L1 has what the filter promises.
const char* check_filters(const State& state) {
  for (unsigned i = 0; i < state.cpu_count; ++i) {
    const Cpu& cpu = state.cpus[i];
    const PrivateCache& l1 = cpu.core->l1;
    const std::uint64_t current = cpu.filter->epoch;
    if (cpu.transaction.active != (current != 0))
      return "the filter's epoch does not tell whether a transaction runs";
    for (std::size_t index = 0; index < Filter::kEntries; ++index) {
      const FilterEntry& entry = cpu.filter->entry[index];
      if (entry.tag == FilterEntry::kEmpty) {
        if (entry.used) return "an empty filter entry was used";
        if (entry.named) return "an empty filter entry names an L1 slot";
        continue;
      }
      if (entry.l1_slot() >= l1.slots() || l1.empty(entry.l1_slot()))
        return "a filter entry names an empty L1 slot";
      const LineAddr line = l1.line(entry.l1_slot());
      const std::uint64_t plain = entry.tag & ((std::uint64_t{1} << 48) - 1) & Filter::kNotOpen;
      if (plain != start_of(line).value) return "a filter entry and its L1 slot hold different lines";
      if ((line.value & Filter::kIndexMask) != index) return "a filter entry has the wrong index";
      const bool write = !(entry.tag & FilterEntry::kNoStore);
      const std::uint16_t flags = l1.state(entry.l1_slot()).flags;
      if (!(flags & cpu.mine(write ? kWritable : kReadable))) return "a filter entry promises too much";
      if (flags & kPrefetched) return "a filter entry hides the first use of a prefetched line";
      if (write && !(flags & kDirty)) return "a filter entry would hide the first store to a line";
      const std::uint64_t epoch = (entry.tag ^ start_of(line).value) & ~((std::uint64_t{1} << 48) - 1);
      if (cpu.transaction.active && epoch == current) {
        const std::uint16_t sets =
            cpu.mine(write ? kTransactionWritten : kTransactionRead | kTransactionWritten);
        if (!(flags & sets)) return "a filter entry hides a transaction's first access";
      }
    }
  }
  return nullptr;
}

}  // namespace

const char* broken_invariant(const State& state) {
  if (const char* problem = check_caches(state)) return problem;
  if (const char* problem = check_transactions(state)) return problem;
  if (const char* problem = check_early_requests(state)) return problem;
  return check_filters(state);
}

}  // namespace elision::machine
