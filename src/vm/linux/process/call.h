// SPDX-License-Identifier: Apache-2.0
// One system call on its way: who makes it, with which arguments.
#pragma once

#include <cstdint>

#include "vm/linux/process/process.h"

namespace elision::vm {

struct Call {
  Process& process;
  KernelThread& self;
  std::uint64_t number;
  std::uint64_t arguments[6];
  bool clears_handlers = false;     // clone3 with CLONE_CLEAR_SIGHAND
  std::uint64_t pidfd_address = 0;  // of clone and clone3 with CLONE_PIDFD; else 0

  Thread& thread() const { return self.thread; }
  EngineServices& services() const { return process.services; }
  std::uint64_t operator[](unsigned i) const { return arguments[i]; }
  int integer(unsigned i) const { return static_cast<int>(arguments[i]); }

  /// Ends the call with `result` (a negative errno on failure).
  SyscallOutcome finish(long result) const {
    self.thread.state.gpr[kRax] = static_cast<std::uint64_t>(result);
    return SyscallOutcome::kReturn;
  }
};

/// A handler of the table in system_calls.cc.
using CallHandler = SyscallOutcome (*)(Call&);

}  // namespace elision::vm
