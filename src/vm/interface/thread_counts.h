// SPDX-License-Identifier: Apache-2.0
// What the machine counts for a thread, and how the kernel asks to hear that a count is reached: the base of
// perf_event_open.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/model.h"
#include "vm/interface/access_counter.h"
#include "vm/interface/branch_record.h"

namespace elision::vm {

/// Counts of a thread since it began, on all CPUs that it has run on.
struct ThreadCounts {
  std::uint64_t cycles = 0;  // on a CPU, what the kernel does for the thread included
  std::uint64_t nanoseconds = 0, reference_cycles = 0;  // the same time
  std::uint64_t instructions = 0;
  std::uint64_t mispredictions = 0;
  std::uint64_t accesses[kCountedAccesses] = {};  // loads, and stores: while they are counted
  std::uint64_t transaction_cycles = 0;           // in transactions that have ended
  std::uint64_t committed_cycles = 0;             // of these, in those that committed
  std::uint64_t switches = 0;                     // times that it left a CPU
  std::uint64_t migrations = 0;                   // times that it came to another CPU
  machine::CpuCounts machine{};

  std::uint64_t aborts() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : machine.aborts) sum += count;
    return sum;
  }
};

/// Values of ThreadCounts at which the engine calls Kernel::count_reached.
struct CountLimits {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t cycles = kNone, nanoseconds = kNone;
  std::uint64_t instructions = kNone;
  std::uint64_t begins = kNone, commits = kNone, aborts = kNone;
  std::uint64_t accesses[kCountedAccesses] = {kNone, kNone};

  bool any() const {
    return (cycles & nanoseconds & instructions & begins & commits & aborts & accesses[0] & accesses[1]) !=
           kNone;
  }
  bool reached_by(const ThreadCounts& counts) const {
    return counts.cycles >= cycles || counts.nanoseconds >= nanoseconds ||
           counts.instructions >= instructions || counts.machine.begins >= begins ||
           counts.machine.commits >= commits || counts.aborts() >= aborts ||
           counts.accesses[0] >= accesses[0] || counts.accesses[1] >= accesses[1];
  }
};

/// An aborted transaction as its CPU records it: the abort at which a limit was reached.
struct AbortRecord {
  machine::HardwareAbort cause{};
  std::uint32_t status = 0;  // as EAX has it
  std::uint64_t pc = 0;      // the instruction that was to be executed
  std::uint64_t cycles = 0;  // since the transaction began
};

/// The interrupt with which a CPU reports that a count is reached. The thread's state is that of the
/// interrupt: a transaction has been aborted.
struct CountInterrupt {
  std::uint64_t pc = 0;  // the instruction that was to be executed, also inside of that transaction
  std::optional<AbortRecord> abort;                             // with CountLimits::aborts
  std::optional<AccessRecord> accesses[kCountedAccesses] = {};  // with CountLimits::accesses
  std::vector<BranchRecord> branches{};  // newest first; since the thread came to its CPU
};

}  // namespace elision::vm
