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
/// Returns another process of the run by its host process ID, or nothing if it has ended or belongs to no
/// process of the run.
std::optional<ShownProcess> shown_process(const Process& process, int host_pid);
/// Returns the host's process ID of the other process of the run to which thread `tid` belongs, or 0 if no
/// other process has that thread.
int host_process_of_thread(const Process& process, int tid);

/// These publish what has changed. They cost little while the process is alone. They do nothing in a vfork
/// child, which is its parent but for its process ID until it calls execve.
void publish_threads(Process& process);
void publish_program(Process& process);
void publish_regions(Process& process);
/// Takes an entry on the board if there is one, and publishes all. For new processes and images.
void publish_all(Process& process);
/// `thread` begins or ends a wait.
void publish_state(const Process& process, KernelThread& thread, char state);

}  // namespace elision::vm
