// SPDX-License-Identifier: Apache-2.0
// Process and thread numbers of the guest. The first process has a fixed number so that runs repeat; its
// descendants have the host's numbers.
#pragma once

#include <sys/types.h>

#include "vm/interface/engine_services.h"
#include "vm/interface/limit_table.h"

namespace elision::vm {

inline constexpr int kRootPid = 4242;

/// State that a process image inherits over execve.
struct ProcessOrigin {
  int root_host_pid = 0;  // host number of the first process; 0: this is it
  Nanoseconds start_time = 0;
  /// Signals that the program before this one blocked. The host's mask is full across execve.
  std::uint64_t blocked_signals = 0;
  Nanoseconds cpu_time = 0, children_cpu_time = 0;  // of earlier images
  int cpu_time_board = -1;                          // its descriptor (cpu_time_board.h)
  std::uint64_t affinity[2] = {~0ull, ~0ull};       // as Thread::affinity
  LimitTable limits = kNoLimits;
  Scheduling scheduling;
};

class ProcessIds {
 public:
  explicit ProcessIds(const ProcessOrigin& origin);

  int pid() const { return to_guest(host_pid_); }
  int host_pid() const { return host_pid_; }
  int root_host_pid() const { return root_host_pid_; }
  bool is_root() const { return host_pid_ == root_host_pid_; }
  int next_tid() { return next_tid_++; }

  /// Numbers of processes and, negative as for kill, of process groups. Others are unchanged.
  int to_guest(int host) const;
  int to_host(int guest) const;
  int parent() const;

  /// In a fork's child: takes over its own host number.
  void start_child();

 private:
  int host_pid_;
  int root_host_pid_;
  int root_parent_host_pid_;
  int next_tid_;
};

}  // namespace elision::vm
