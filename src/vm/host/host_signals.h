// SPDX-License-Identifier: Apache-2.0
// Signals that the host sends to this process. A handler of ours records them, async-signal-safe; the
// kernel takes them out at its next chance. Synchronous faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
// SIGTRAP) belong to the engine, whose handler passes on to record_host_signal what somebody sent.
#pragma once

#include <csignal>
#include <optional>

#include "vm/interface/signal_types.h"

namespace elision::vm {

enum class HostAction { kDefault, kIgnore, kRecord };

/// True for the signals whose host handler is the engine's.
constexpr bool is_synchronous(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP;
}

/// Sets what the host does with `signal`; no effect on synchronous ones, SIGKILL and SIGSTOP.
/// `flags` are SA_NOCLDSTOP and SA_NOCLDWAIT, which the host has to know.
void set_host_action(int signal, HostAction action, int flags = 0);
bool host_ignores(int signal);

/// Records `info` for the kernel and keeps the host from blocking with it unseen. Async-signal-safe.
/// A deadly signal that nobody takes ends the process when it arrives the third time, or when the process has
/// used a second of CPU time in which the guest did not get on: the engine hangs.
void record_host_signal(const siginfo_t& info, void* context);

/// `progress` returns another number whenever the guest has got on. Async-signal-safe.
void watch_progress(std::uint64_t (*progress)());

bool host_signal_recorded();
/// The oldest recorded signal; to be called until it returns nothing.
std::optional<siginfo_t> take_host_signal();
/// Forgets what was recorded (fork child).
void clear_host_signals();

SignalSet get_host_mask();
void set_host_mask(SignalSet mask);

/// Ends the host process by `signal`, with the status and core of that signal.
[[noreturn]] void die_by_host_signal(int signal);

}  // namespace elision::vm
