// SPDX-License-Identifier: Apache-2.0
// The table of system calls: the only list of them. A row says how the call is handled, passed on to the host
// or refused, which guest memory it reads and writes, and what it does to threads, to transactions and
// outside the process.
#pragma once

#include <cstdint>
#include <span>

#include "vm/linux/process/call.h"
#include "vm/linux/syscalls/call_memory.h"

namespace elision::vm {

struct SystemCall {
  unsigned number;
  const char* name;
  CallHandler handler;
  CallMemory memory;                // every pointer among the arguments of a call that is not refused
  unsigned effects = 0;             // as Effects
  CallHandler companion = nullptr;  // the handler for a companion, if it is another one
};

/// All up to Linux 6.10, by number.
std::span<const SystemCall> system_calls();
/// The row of `number`, or null.
const SystemCall* find_system_call(std::uint64_t number);

}  // namespace elision::vm
