// SPDX-License-Identifier: Apache-2.0
// What an event counts. Pure: calls nothing.
//
// Sources: perf_event_open(2); the event lists of Intel's parts (github.com/intel/perfmon) for raw encodings,
// which are umask << 8 | event.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>

#include "vm/interface/machine_identity.h"
#include "vm/interface/thread_counts.h"

namespace elision::vm {

enum class EventKind : std::uint32_t {
  kNothing,  // PERF_COUNT_SW_DUMMY: only carries records
  kCycles,
  kReferenceCycles,
  kClock,  // nanoseconds on a CPU
  kInstructions,
  kBranchMisses,
  kCacheReferences,
  kCacheMisses,
  kPageFaults,
  kSwitches,
  kMigrations,
  kBegins,
  kCommits,
  kAborts,
  kMemoryAborts,       // conflicts and capacity
  kInstructionAborts,  // instructions that abort, XABORT among them, and faults
  kOtherAborts,        // interrupts and the like
  kConflicts,
  kCapacity,
  kTransactionCycles,
  kCommittedCycles,
  kLoads,   // instructions that load
  kStores,  // instructions that store
};

/// The kind that `attr` names on this machine, or Linux's error.
struct NamedKind {
  EventKind kind = EventKind::kNothing;
  int error = 0;  // negative errno, 0: none
};
NamedKind kind_named(const perf_event_attr& attr, const MachineIdentity& machine);

/// Whether there are events of transactions.
bool has_transactions(const MachineIdentity& machine);

std::uint64_t value_of(EventKind kind, const ThreadCounts& counts);

/// Whether an overflow of the kind interrupts at once. The others are only counted.
bool interrupts(EventKind kind);
/// The accesses (CountedAccess) that the kind counts: 0 or one.
std::uint32_t counted_access(EventKind kind);
/// Whether an abort may be one that the kind counts.
bool counts_aborts(EventKind kind);
/// Lowers the limit that ends the next `left` events of the kind.
void limit(CountLimits& limits, EventKind kind, const ThreadCounts& now, std::uint64_t left,
           const MachineIdentity& machine);

}  // namespace elision::vm
