// SPDX-License-Identifier: Apache-2.0
// Process and thread numbers of the guest. The first process and its threads have fixed numbers so that runs
// repeat; its descendants have the host's numbers, but their further threads do not. Linux gives out numbers
// below kMostHostNumbers (PID_MAX_LIMIT of include/linux/threads.h). The guest kernel's own numbers are above
// it, so that no host process has one of them, and below 2^30, since a futex word has 30 bits for its owner.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "vm/interface/engine_services.h"
#include "vm/interface/limit_table.h"

namespace elision::vm {

inline constexpr int kMostHostNumbers = 1 << 22;
inline constexpr int kRootPid = 4242424;  // the number of its parent is one less
static_assert(kRootPid - 1 >= kMostHostNumbers);

/// State that a process image inherits over execve.
struct ProcessOrigin {
  int root_host_pid = 0;  // host number of the first process; 0: this is it
  Nanoseconds start_time = 0;
  /// Signals that the program before this one blocked. The host's mask is full across execve.
  std::uint64_t blocked_signals = 0;
  Nanoseconds cpu_time = 0, children_cpu_time = 0;  // of earlier images
  int cpu_time_board = -1;                          // its descriptor (cpu_time_board.h)
  int process_board = -1;                           // the same (process_board.h)
  int event_board = -1;                             // the same (events/event_board.h)
  std::vector<std::uint64_t> event_slots;           // of the thread's events
  std::uint64_t affinity[2] = {~0ull, ~0ull};       // as Thread::affinity
  LimitTable limits = kNoLimits;
  Scheduling scheduling;
  bool answers_for_region = true;  // Process::answers_for_region()
};

/// The process has ended and was reaped.
bool is_gone(int host_pid);

class ProcessIds {
 public:
  explicit ProcessIds(const ProcessOrigin& origin);

  int pid() const { return to_guest(host_pid_); }
  int host_pid() const { return host_pid_; }
  int root_host_pid() const { return root_host_pid_; }
  bool is_root() const { return host_pid_ == root_host_pid_; }
  /// The number of the process's next thread; first that of its main thread, which is the process's own.
  int next_tid();

  /// Whether next_tid() of the process with that host number may give out `thread`.
  bool may_have_thread(int host_pid, int thread) const;

  /// Numbers of processes and, negative as for kill, of process groups. Others are unchanged.
  int to_guest(int host) const;
  int to_host(int guest) const;
  int parent() const;

  /// In a fork's child: takes over its own host number.
  void start_child();
  /// In a copy of the first process: takes its place in a run of its own.
  void start_copy();

 private:
  int host_pid_;
  int root_host_pid_;
  int root_parent_host_pid_;
  int threads_ = 0;  // that have got a number
};

}  // namespace elision::vm
