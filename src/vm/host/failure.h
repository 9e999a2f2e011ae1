// SPDX-License-Identifier: Apache-2.0
// Failures of the virtual machine itself: a check that does not hold, or a fault in its own code. Prints what
// failed, where the guest was, and the command that repeats the run; removes the statistics file that it had
// claimed; ends by SIGABRT. Faults of the guest are no failures (signal_delivery.h).
//
// Async-signal-safe, and safe with the guest's TLS in place: no allocation, no C library, only what
// `failure_context` holds.
#pragma once

#include <csignal>
#include <cstdint>
#include <source_location>

namespace elision::vm {

/// The guest's position, as far as the engine knows it.
struct GuestPlace {
  bool known = false;
  int tid = 0;
  std::uint64_t pc = 0;  // inside a block: at its last exit
  std::uint64_t last_translated = 0;
  std::uint64_t cycle = 0;
  unsigned cpu = 0;
};

/// Filled at the start of the process. The texts live as long as the process.
struct FailureContext {
  const char* command = "";               // repeats the whole run
  const char* program = "";               // this process's
  const char* statistics_file = "";       // claimed and not yet written; empty: none
  void (*locate)(GuestPlace&) = nullptr;  // async-signal-safe
};
extern FailureContext failure_context;

/// Ends the process if `holds` is false, with the message `what` and the number `value`.
[[noreturn]] void fail_check(const char* what, std::uint64_t value,
                             std::source_location where = std::source_location::current());
inline void check(bool holds, const char* what, std::uint64_t value = 0,
                  std::source_location where = std::source_location::current()) {
  if (!holds) fail_check(what, value, where);
}

/// A fault of the engine's own code at host address `pc`.
[[noreturn]] void fail_by_fault(const siginfo_t& info, std::uint64_t pc);

/// Reports an uncaught exception as a failure.
void install_terminate_handler();

}  // namespace elision::vm
