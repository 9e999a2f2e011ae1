// SPDX-License-Identifier: Apache-2.0
// How the virtual machine fails: a check of its own that does not hold, or a fault in its own code. It says
// what, where the guest was, and the command that repeats it; takes away the statistics file that it had
// claimed; and ends by SIGABRT. The guest's faults are no failures (signal_delivery.h).
//
// Async-signal-safe, and good with the guest's TLS in place: no allocation, no C library, nothing but what
// was prepared in `failure_context`.
#pragma once

#include <csignal>
#include <cstdint>
#include <source_location>

namespace elision::vm {

/// Where the guest is, as far as the engine knows.
struct GuestPlace {
  bool known = false;
  int tid = 0;
  std::uint64_t pc = 0;  // inside a block, that of its last exit
  std::uint64_t last_translated = 0;
  std::uint64_t cycle = 0;
  unsigned cpu = 0;
};

/// Filled when the process starts. The texts live as long as it does.
struct FailureContext {
  const char* command = "";               // repeats the whole run
  const char* program = "";               // of this process
  const char* statistics_file = "";       // claimed, not written; empty: none
  void (*locate)(GuestPlace&) = nullptr;  // async-signal-safe
};
extern FailureContext failure_context;

/// Ends the process if `holds` is false. `what` says what is wrong then; `value` is shown with it.
[[noreturn]] void fail_check(const char* what, std::uint64_t value,
                             std::source_location where = std::source_location::current());
inline void check(bool holds, const char* what, std::uint64_t value = 0,
                  std::source_location where = std::source_location::current()) {
  if (!holds) fail_check(what, value, where);
}

/// A fault of the engine's own code at host address `pc`.
[[noreturn]] void fail_by_fault(const siginfo_t& info, std::uint64_t pc);

/// Makes an exception that nobody catches a failure that names it.
void install_terminate_handler();

}  // namespace elision::vm
