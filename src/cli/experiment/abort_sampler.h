// SPDX-License-Identifier: Apache-2.0
// Samples the aborts of a program by the CPU's performance events, from outside: no code runs in the program.
//
// An event on each CPU counts the aborts of the program and of what it starts. At each Nth of a thread the
// kernel writes a record into the CPU's ring: the instruction, the cause, how long the transaction had run,
// registers and the top of the stack. The kernel's interrupt comes right after the abort; one that finds the
// thread in its next transaction aborts that, too, so the profiler causes at most one abort a sample. One
// further event counts commits, and is never sampled. Cycles of transactions are counted if the CPU can.
//
// A thread empties the rings, another follows the calls. If that is too slow, samples are dropped and
// counted as lost.
//
// Sources: perf_event_open(2); Intel SDM volume 3, 19.3.6.5 "Performance Monitoring and Intel TSX".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "profile/profile.h"

namespace elision::cli::experiment {

/// An event as perf_event_attr names it: its type and its three words.
struct EventCode {
  std::uint32_t type = 0;
  std::uint64_t config[3] = {};
};

/// The CPU's events of transactions.
struct TransactionCodes {
  EventCode aborts;   // RTM_RETIRED.ABORTED
  EventCode commits;  // RTM_RETIRED.COMMIT
  // Cycles in transactions, and in committed ones; empty if the CPU does not count them.
  std::optional<EventCode> cycles{}, committed_cycles{};
};

class AbortSampler {
 public:
  static constexpr std::uint64_t kMostPeriod = 1'000'000'000;

  /// One sample in `period` aborts of a thread.
  AbortSampler(const TransactionCodes& codes, std::uint64_t period);
  ~AbortSampler();
  AbortSampler(const AbortSampler&) = delete;
  AbortSampler& operator=(const AbortSampler&) = delete;

  /// Opens the events for `process`, which they count from its next execve on. Returns "", or why the kernel
  /// does not allow it: a clause.
  std::string open(pid_t process);
  /// The process has ended. Called once, after an open() that returned "".
  profile::AbortEvents finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace elision::cli::experiment
