// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/events/event_kinds.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <iterator>

namespace elision::vm {
namespace {

using machine::HardwareAbort;

constexpr std::uint64_t kEventAndMask = 0xffff;
constexpr std::uint64_t kInTransaction = 1ull << 32,
                        kCommitted = 1ull << 33;  // IA32_PERFEVTSEL: IN_TX, IN_TXCP
constexpr std::uint64_t kTransactionBits = kInTransaction | kCommitted;

struct RawEvent {
  std::uint64_t config;
  EventKind kind;
  bool transactional;
};
constexpr RawEvent kRawEvents[] = {
    {0x003c, EventKind::kCycles, false},
    {0x003c | kInTransaction, EventKind::kTransactionCycles, true},
    {0x003c | kTransactionBits, EventKind::kCommittedCycles, true},
    {0x00c0, EventKind::kInstructions, false},
    {0x0300, EventKind::kReferenceCycles, false},
    {0x00c5, EventKind::kBranchMisses, false},
    {0x4f2e, EventKind::kCacheReferences, false},
    {0x412e, EventKind::kCacheMisses, false},
    {0x01c9, EventKind::kBegins, true},
    {0x02c9, EventKind::kCommits, true},
    {0x04c9, EventKind::kAborts, true},
    {0x08c9, EventKind::kMemoryAborts, true},
    {0x20c9, EventKind::kInstructionAborts, true},
    {0x80c9, EventKind::kOtherAborts, true},
    {0x81d0, EventKind::kLoads, false},
    {0x82d0, EventKind::kStores, false},
    {0x0154, EventKind::kConflicts, true},
    {0x0254, EventKind::kCapacity, true},
};

constexpr struct {
  std::uint64_t config;
  EventKind kind;
} kHardwareEvents[] =
    {
        {PERF_COUNT_HW_CPU_CYCLES, EventKind::kCycles},
        {PERF_COUNT_HW_INSTRUCTIONS, EventKind::kInstructions},
        {PERF_COUNT_HW_CACHE_REFERENCES, EventKind::kCacheReferences},
        {PERF_COUNT_HW_CACHE_MISSES, EventKind::kCacheMisses},
        {PERF_COUNT_HW_BRANCH_MISSES, EventKind::kBranchMisses},
        {PERF_COUNT_HW_REF_CPU_CYCLES, EventKind::kReferenceCycles},
},
  kSoftwareEvents[] = {
      {PERF_COUNT_SW_CPU_CLOCK, EventKind::kClock},
      {PERF_COUNT_SW_TASK_CLOCK, EventKind::kClock},
      {PERF_COUNT_SW_PAGE_FAULTS, EventKind::kPageFaults},
      {PERF_COUNT_SW_PAGE_FAULTS_MIN, EventKind::kPageFaults},
      {PERF_COUNT_SW_CONTEXT_SWITCHES, EventKind::kSwitches},
      {PERF_COUNT_SW_CPU_MIGRATIONS, EventKind::kMigrations},
      {PERF_COUNT_SW_DUMMY, EventKind::kNothing},
};

template <class Rows>
NamedKind find(const Rows& rows, std::uint64_t config) {
  const auto row =
      std::find_if(std::begin(rows), std::end(rows), [&](const auto& r) { return r.config == config; });
  return row != std::end(rows) ? NamedKind{row->kind, 0} : NamedKind{EventKind::kNothing, -ENOENT};
}

NamedKind raw_kind(std::uint64_t config, const MachineIdentity& machine) {
  const auto row = std::find_if(std::begin(kRawEvents), std::end(kRawEvents),
                                [&](const RawEvent& r) { return r.config == config; });
  if ((config & ~(kEventAndMask | kTransactionBits)) != 0) return {EventKind::kNothing, -EINVAL};
  if (row == std::end(kRawEvents)) return {EventKind::kNothing, -ENOENT};
  if (row->transactional && !has_transactions(machine)) return {EventKind::kNothing, -ENOENT};
  return {row->kind, 0};
}

std::uint64_t sum_of(const machine::CpuCounts& counts, std::initializer_list<HardwareAbort> causes) {
  std::uint64_t sum = 0;
  for (const HardwareAbort cause : causes) sum += counts.aborts[static_cast<unsigned>(cause)];
  return sum;
}

}  // namespace

bool has_transactions(const MachineIdentity& machine) {
  return (" " + machine.flags + " ").find(" rtm ") != std::string::npos;
}

NamedKind kind_named(const perf_event_attr& attr, const MachineIdentity& machine) {
  switch (attr.type) {
    case PERF_TYPE_HARDWARE:
      return attr.config < PERF_COUNT_HW_MAX ? find(kHardwareEvents, attr.config)
                                             : NamedKind{EventKind::kNothing, -EINVAL};
    case PERF_TYPE_SOFTWARE:
      return find(kSoftwareEvents, attr.config);
    case PERF_TYPE_RAW:
      return raw_kind(attr.config, machine);
    default:
      return {EventKind::kNothing, -ENOENT};
  }
}

std::uint64_t value_of(EventKind kind, const ThreadCounts& counts) {
  const machine::CpuCounts& of_machine = counts.machine;
  using enum HardwareAbort;
  switch (kind) {
    case EventKind::kNothing:
      return 0;
    case EventKind::kCycles:
      return counts.cycles;
    case EventKind::kReferenceCycles:
      return counts.reference_cycles;
    case EventKind::kClock:
      return counts.nanoseconds;
    case EventKind::kInstructions:
      return counts.instructions;
    case EventKind::kBranchMisses:
      return counts.mispredictions;
    case EventKind::kCacheReferences:
      return of_machine.l2_misses;
    case EventKind::kCacheMisses:
      return of_machine.l3_misses;
    case EventKind::kPageFaults:
      return of_machine.page_faults;
    case EventKind::kSwitches:
      return counts.switches;
    case EventKind::kMigrations:
      return counts.migrations;
    case EventKind::kBegins:
      return of_machine.begins;
    case EventKind::kCommits:
      return of_machine.commits;
    case EventKind::kAborts:
      return counts.aborts();
    case EventKind::kMemoryAborts:
      return sum_of(of_machine, {kConflict, kCapacity});
    case EventKind::kInstructionAborts:
      return sum_of(of_machine, {kExplicit, kInstruction, kFault, kNested, kCommitInAlwaysAbort});
    case EventKind::kOtherAborts:
      return sum_of(of_machine, {kInterrupt, kSpurious});
    case EventKind::kConflicts:
      return sum_of(of_machine, {kConflict});
    case EventKind::kCapacity:
      return sum_of(of_machine, {kCapacity});
    case EventKind::kTransactionCycles:
      return counts.transaction_cycles;
    case EventKind::kCommittedCycles:
      return counts.committed_cycles;
    case EventKind::kLoads:
      return counts.accesses[0];
    case EventKind::kStores:
      return counts.accesses[1];
  }
  return 0;
}

bool counts_aborts(EventKind kind) {
  switch (kind) {
    case EventKind::kAborts:
    case EventKind::kMemoryAborts:
    case EventKind::kInstructionAborts:
    case EventKind::kOtherAborts:
    case EventKind::kConflicts:
    case EventKind::kCapacity:
      return true;
    default:
      return false;
  }
}

std::uint32_t counted_access(EventKind kind) {
  return kind == EventKind::kLoads ? kCountedLoad : kind == EventKind::kStores ? kCountedStore : 0u;
}

bool interrupts(EventKind kind) {
  switch (kind) {
    case EventKind::kCycles:
    case EventKind::kReferenceCycles:
    case EventKind::kClock:
    case EventKind::kInstructions:
    case EventKind::kBegins:
    case EventKind::kCommits:
    case EventKind::kLoads:
    case EventKind::kStores:
      return true;
    default:
      return counts_aborts(kind);
  }
}

void limit(CountLimits& limits, EventKind kind, const ThreadCounts& now, std::uint64_t left,
           const MachineIdentity& machine) {
  const auto lower = [](std::uint64_t& limit, std::uint64_t now_at, std::uint64_t more) {
    limit = std::min(limit, more > ~now_at ? CountLimits::kNone : now_at + more);
  };
  switch (kind) {
    case EventKind::kCycles:
      return lower(limits.cycles, now.cycles, left);
    case EventKind::kReferenceCycles:
      return lower(
          limits.nanoseconds, now.nanoseconds,
          static_cast<std::uint64_t>(std::ceil(static_cast<double>(left) * 1000 / machine.megahertz)));
    case EventKind::kClock:
      return lower(limits.nanoseconds, now.nanoseconds, left);
    case EventKind::kInstructions:
      return lower(limits.instructions, now.instructions, left);
    case EventKind::kBegins:
      return lower(limits.begins, now.machine.begins, left);
    case EventKind::kCommits:
      return lower(limits.commits, now.machine.commits, left);
    case EventKind::kAborts:
      return lower(limits.aborts, now.aborts(), left);
    case EventKind::kLoads:
      return lower(limits.accesses[0], now.accesses[0], left);
    case EventKind::kStores:
      return lower(limits.accesses[1], now.accesses[1], left);
    default:
      if (counts_aborts(kind)) lower(limits.aborts, now.aborts(), 1);  // the next one may be of the kind
  }
}

}  // namespace elision::vm
