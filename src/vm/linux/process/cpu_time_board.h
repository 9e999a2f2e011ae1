// SPDX-License-Identifier: Apache-2.0
// Virtual CPU time of the processes of one run, for parents that wait for children: the host counts the
// engine's time. Shared memory that children inherit and that survives execve.
//
// A process killed from outside is counted up to its last timer tick. If the board is full, it reuses entries
// of processes that ended without being waited for; if there are none, the time of a new process counts as 0.
#pragma once

#include <cstdint>

#include "vm/interface/engine_services.h"

namespace elision::vm {

class CpuTimeBoard {
 public:
  /// Opens the board of the image before this one. `inherited` < 0: there is none yet.
  explicit CpuTimeBoard(int inherited);

  /// Creates the board, before the first child.
  void make();
  /// The descriptor to pass over execve, which closes all other descriptors of the engine; negative if there
  /// is no board.
  int descriptor_over_exec() const;

  /// Starts the entry of a new process; an earlier process may have had the same number.
  void start(int host_pid) { look(host_pid, true); }
  void publish(int host_pid, Nanoseconds time);
  /// The time that a child has published. `forget` frees its entry.
  Nanoseconds look(int host_pid, bool forget);

 private:
  struct Entry;
  void map();
  Entry* find(int host_pid, bool claim);

  int descriptor_ = -1;
  Entry* entries_ = nullptr;
};

}  // namespace elision::vm
