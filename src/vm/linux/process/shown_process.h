// SPDX-License-Identifier: Apache-2.0
// A guest process as the files of /proc/PID show it: this one, or another one of the same run, which has
// published itself on the board (process_board.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vm/interface/limit_table.h"
#include "vm/linux/memory/region_map.h"
#include "vm/linux/process/process.h"

namespace elision::vm {

inline constexpr char kRunning = 'R', kSleeping = 'S';  // states of threads, as proc(5) writes them

struct ShownThread {
  int tid = 0;
  char state = kRunning;
  std::string name;
  std::uint64_t affinity[2] = {};
};

struct ShownProcess {
  int host_pid = 0;
  std::vector<ShownThread> threads;  // live ones, in creation order; at least one
  RegionMap regions;
  LimitTable limits{};
  std::string executable;
  std::vector<std::string> arguments, environment;
  std::vector<std::uint64_t> auxiliary_vector;

  /// The thread with this number, or null.
  const ShownThread* find(int tid) const;
};

ShownProcess shown_self(const Process& process);
/// Another process of the run by the host's number; nothing if it has ended or is not one of the run.
std::optional<ShownProcess> shown_process(const Process& process, int host_pid);
/// The host's number of the other process of the run that has this thread; 0: there is none.
int host_process_of_thread(const Process& process, int tid);

/// Each publishes what has changed, for others to see; cheap where there are no others. In a vfork child
/// nothing: all but its number is its parent's until it calls execve.
void publish_threads(Process& process);
void publish_program(Process& process);
void publish_regions(Process& process);
/// Takes an entry on the board if there is one, and publishes all. For new processes and images.
void publish_all(Process& process);
/// `thread` begins or ends a wait.
void publish_state(const Process& process, KernelThread& thread, char state);

}  // namespace elision::vm
