// SPDX-License-Identifier: Apache-2.0
// Where processes of one run leave the virtual CPU time that they have used, for the parent that waits for
// them: what the host counts is the engine's. Shared memory that children inherit and that survives execve.
//
// A process that is killed from outside is counted up to its last timer tick. Places of processes that ended
// and were never waited for are taken when no other is free. When the board is full, what finds no place
// counts as nothing.
#pragma once

#include <cstdint>

#include "vm/interface/engine_services.h"

namespace elision::vm {

class CpuTimeBoard {
 public:
  /// Opens the board that the image before this one had, or, if `inherited` is negative, none yet.
  explicit CpuTimeBoard(int inherited);

  /// Makes it, before the first child.
  void make();
  /// The descriptor to hand over execve, which closes all others of the engine; negative: none.
  int descriptor_over_exec() const;

  /// A new process: forgets what an earlier one of that number has left.
  void start(int host_pid) { look(host_pid, true); }
  void publish(int host_pid, Nanoseconds time);
  /// What a child has published; `forget` frees its place.
  Nanoseconds look(int host_pid, bool forget);

 private:
  struct Entry;
  void map();
  Entry* find(int host_pid, bool claim);

  int descriptor_ = -1;
  Entry* entries_ = nullptr;
};

}  // namespace elision::vm
