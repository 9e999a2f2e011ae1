// SPDX-License-Identifier: Apache-2.0
// From a signal that was sent to what it does: which thread takes it, handler, default action.
#pragma once

#include "vm/linux/process/process.h"

namespace elision::vm {

/// What SIG_DFL means for a signal (signal(7)).
enum class DefaultAction { kTerminate, kIgnore, kStop, kContinue };
DefaultAction default_action(int signal);

/// Sends `info` to the process as a whole, or to one thread of it.
void post_to_process(Process& process, const siginfo_t& info);
void post_to_thread(Process& process, KernelThread& thread, const siginfo_t& info);

/// Removes and returns the signal of `wanted` that `thread` gets first, if one is pending.
std::optional<siginfo_t> take_pending(Process& process, KernelThread& thread, SignalSet wanted);

/// True if some signal that `thread` does not block is pending for it.
bool has_deliverable(const Process& process, const KernelThread& thread);

/// Delivers everything deliverable to `thread`, whose registers are edited. `interrupted` says what to do
/// with the call that the signals interrupted, if one was. May end the process. False if no handler was
/// entered.
bool deliver_pending(Process& process, KernelThread& thread, std::optional<OnSignal> interrupted);

/// Takes in what the host recorded. `caller` gets signals that its call caused (SIGPIPE); may be null.
void take_in_host_signals(Process& process, KernelThread* caller);

/// Makes the host treat `signal` in accordance with the guest's action for it.
void mirror_action(Process& process, int signal);
/// Changes a thread's mask; delivers nothing.
void set_blocked(Process& process, KernelThread& thread, SignalSet blocked);

/// Writes the statistics and ends the process by `signal`.
[[noreturn]] void die_by_signal(Process& process, int signal);

/// The same, of something that `thread` did itself: people are told. `note` says more, or nothing.
[[noreturn]] void die_of(Process& process, KernelThread& thread, const siginfo_t& info,
                         const char* note = "");

/// A fault of the thread's own instruction: delivered even if blocked or ignored, then deadly.
void force_signal(Process& process, KernelThread& thread, const siginfo_t& info);

}  // namespace elision::vm
