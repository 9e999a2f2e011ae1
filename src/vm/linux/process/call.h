// SPDX-License-Identifier: Apache-2.0
// A system call in progress: its caller, its arguments, and what its row in the table allows it.
#pragma once

#include <cstdint>

#include "vm/interface/fallible.h"
#include "vm/linux/process/process.h"

namespace elision::vm {

/// What a system call may do to threads, to transactions and outside the process, as bits. Its row in the
/// table (system_calls.cc) states them. Two of them are checked: a call that waits without kBlocks, or takes
/// memory away without kEndsTransactions, ends the virtual machine with a message.
struct Effects {
  /// It may wait. Only such a call can park its thread or block the host (waiting.h).
  static constexpr unsigned kBlocks = 1;
  /// A signal handler ends its wait with EINTR. Without this bit the call starts again if the handler has
  /// SA_RESTART. signal(7) lists both kinds.
  static constexpr unsigned kNeverRestarts = 2;
  /// It asks which descriptors are ready.
  static constexpr unsigned kAsksForReadiness = 4;
  /// It may make a descriptor ready that another thread of this process waits for.
  static constexpr unsigned kMayMakeReady = 8;
  /// It may take memory or permissions away from the guest. The address space then ends every transaction.
  /// (A call with an argument of unknown effect, which may reach any memory, ends them too without this bit:
  /// before_call() in guest_call.cc.)
  static constexpr unsigned kEndsTransactions = 16;
  /// It changes nothing outside the process, or only through a descriptor: outside_effect() has judged that
  /// when it was opened, or judges it when it is used. So a process that made the call can be copied. Not
  /// checked.
  static constexpr unsigned kInside = 32;
};

struct Call {
  Process& process;
  KernelThread& self;
  std::uint64_t number;
  std::uint64_t arguments[6];
  unsigned effects = 0;             // of its row, as Effects
  bool clears_handlers = false;     // clone3 with CLONE_CLEAR_SIGHAND
  std::uint64_t pidfd_address = 0;  // of clone and clone3 with CLONE_PIDFD; else 0

  Thread& thread() const { return self.thread; }
  EngineServices& services() const { return process.services; }
  std::uint64_t operator[](unsigned i) const { return arguments[i]; }
  int integer(unsigned i) const { return static_cast<int>(arguments[i]); }
  bool states(unsigned effect) const { return (effects & effect) != 0; }

  /// Ends the call with `result` (a negative errno on failure).
  SyscallOutcome finish(long result) const {
    self.thread.state.gpr[kRax] = static_cast<std::uint64_t>(result);
    return SyscallOutcome::kReturn;
  }
  SyscallOutcome finish(Errno error) const { return finish(error.value); }
};

/// A handler of the table in system_calls.cc.
using CallHandler = SyscallOutcome (*)(Call&);

}  // namespace elision::vm
