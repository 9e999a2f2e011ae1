// SPDX-License-Identifier: Apache-2.0
// Delivery of signals: the choice of the thread, handlers, default actions.
#pragma once

#include "vm/linux/process/process.h"

namespace elision::vm {

/// What SIG_DFL means for a signal (signal(7)).
enum class DefaultAction { kTerminate, kIgnore, kStop, kContinue };
DefaultAction default_action(int signal);

/// Sends `info` to the process as a whole, or to one thread of it.
void post_to_process(Process& process, const siginfo_t& info);
void post_to_thread(Process& process, KernelThread& thread, const siginfo_t& info);

/// Removes and returns the signal of `wanted` that `thread` takes first, if one is pending.
std::optional<siginfo_t> take_pending(Process& process, KernelThread& thread, SignalSet wanted);

/// True if some signal that `thread` does not block is pending for it.
bool has_deliverable(const Process& process, const KernelThread& thread);

/// Delivers all deliverable signals to `thread`, whose registers change. `interrupted`: a call was
/// interrupted, and how it ends. May end the process. Returns true if a handler was entered.
bool deliver_pending(Process& process, KernelThread& thread, std::optional<OnSignal> interrupted);

/// Takes the signals that the host recorded. `caller`, which may be null, gets signals that its call caused
/// (SIGPIPE).
void take_in_host_signals(Process& process, KernelThread* caller);

/// Sets the host's action for `signal` to match the guest's.
void mirror_action(Process& process, int signal);
/// Changes a thread's mask; delivers nothing.
void set_blocked(Process& process, KernelThread& thread, SignalSet blocked);

/// Writes the statistics and ends the process by `signal`.
[[noreturn]] void die_by_signal(Process& process, int signal);

/// The same for a signal that `thread` itself caused, with a crash report. `note` adds a line to it.
[[noreturn]] void die_of(Process& process, KernelThread& thread, const siginfo_t& info,
                         const char* note = "");

/// Delivers a fault of the thread's own instruction. If the signal is blocked or ignored, it ends the
/// process.
void force_signal(Process& process, KernelThread& thread, const siginfo_t& info);

}  // namespace elision::vm
