// SPDX-License-Identifier: Apache-2.0
// Signals that the host sends to this process. An async-signal-safe handler records them, and the kernel
// takes them at its next chance. Synchronous faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP) belong to the
// engine, whose handler passes those that another process sent to record_host_signal().
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

/// Sets the host's action for `signal`. No effect on synchronous signals, SIGKILL and SIGSTOP. `flags`:
/// SA_NOCLDSTOP and SA_NOCLDWAIT, which the host must know.
void set_host_action(int signal, HostAction action, int flags = 0);
bool host_ignores(int signal);

/// Records `info` for the kernel and keeps the host from blocking with the signal unseen. Async-signal-safe.
/// Ends the process if the engine hangs: if a deadly signal that was not taken arrives for the third time, or
/// after a second of CPU time in which the guest made no progress.
void record_host_signal(const siginfo_t& info, void* context);

/// `progress` returns a new number whenever the guest has made progress. Async-signal-safe.
void watch_progress(std::uint64_t (*progress)());

bool host_signal_recorded();
/// Takes the oldest recorded signal; call it until it returns nothing.
std::optional<siginfo_t> take_host_signal();
/// Drops recorded signals, in a fork's child.
void clear_host_signals();

SignalSet get_host_mask();
void set_host_mask(SignalSet mask);

/// Ends the host process by `signal`, with the status and core of that signal.
[[noreturn]] void die_by_host_signal(int signal);

}  // namespace elision::vm
