// SPDX-License-Identifier: Apache-2.0
// Samples the aborts of a program by the CPU's performance events, from outside: no code runs in the program.
//
// An event on each CPU counts the aborts of the program and of what it starts; of a process that runs already
// each thread has one on each CPU, since the kernel has no event of a whole process. At each Nth of a thread
// the kernel writes a record into the CPU's ring: the instruction, the cause, how long the transaction had
// run, registers and the top of the stack. The kernel's interrupt comes right after the abort; one that finds
// the thread in its next transaction aborts that, too, so the profiler causes at most one abort a sample. One
// further event counts commits, and is never sampled. Cycles of transactions are counted if the CPU can.
//
// If asked, two more events a CPU sample loads and stores with their addresses: data that threads share
// (profile/shared_data.h). Their interrupts do abort transactions.
//
// A thread empties the rings, another follows the calls. If that is too slow, samples are dropped and
// counted as lost.
//
// Sources: perf_event_open(2); Intel SDM volume 3, 19.3.6.5 "Performance Monitoring and Intel TSX".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "cli/host/perf_event.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

class AbortSampler {
 public:
  static constexpr std::uint64_t kMostPeriod = 1'000'000'000;

  /// One sample in `period` aborts of a thread, and in `access_period` loads and in as many stores; 0: no
  /// samples of these.
  AbortSampler(const TransactionEvents& events, std::uint64_t period, std::uint64_t access_period);
  ~AbortSampler();
  AbortSampler(const AbortSampler&) = delete;
  AbortSampler& operator=(const AbortSampler&) = delete;

  /// Opens the events for `process`, which they count from its next execve on. Returns "", or why the kernel
  /// does not allow it: a clause.
  std::string open(pid_t process);
  /// The same for a process that runs already, which is counted from now on. Its children so far are not.
  std::string attach(pid_t process);
  /// Stops counting.
  void stop();
  /// Stops counting, takes what is in the rings, and adds what it tells to the profile. Called once, after an
  /// open() or attach() that returned "".
  void finish(profile::Profile& profile);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace elision::cli::experiment
