// SPDX-License-Identifier: Apache-2.0
// The table of system calls. What is refused, passed on to the host or handled, what a call reads and writes
// of guest memory, and what it has to do with readiness, follows from its row.
#pragma once

#include <cstdint>
#include <span>

#include "vm/linux/process/call.h"
#include "vm/linux/syscalls/call_memory.h"

namespace elision::vm {

struct SystemCall {
  /// It looks which descriptors are ready.
  static constexpr unsigned kAsksForReadiness = 1;
  /// It may make a descriptor ready that another thread of this process waits for.
  static constexpr unsigned kMayMakeReady = 2;

  unsigned number;
  const char* name;
  CallHandler handler;
  CallMemory memory;  // every pointer among the arguments of a call that is not refused
  unsigned readiness = 0;
};

/// All up to Linux 6.10, by number.
std::span<const SystemCall> system_calls();
/// The row of `number`; null for a number that is not known.
const SystemCall* find_system_call(std::uint64_t number);

}  // namespace elision::vm
