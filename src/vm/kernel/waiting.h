// SPDX-License-Identifier: Apache-2.0
// Parking of threads whose call must wait, and the events that end the waits.
#pragma once

#include "vm/kernel/call.h"

namespace elision::vm {

/// Parks the calling thread. At `deadline` (engine time) the call ends with `timeout_result`.
SyscallOutcome park(Call& call, Wait wait, Nanoseconds deadline = kNoDeadline, long timeout_result = 0);

/// Ends a wait that was completed (RAX is set) and makes the thread runnable.
void end_wait(Process& process, KernelThread& thread, const Thread* waker);

/// Ends a wait because a signal is to be delivered; the caller edits the registers, then unparks.
void abandon_wait(KernelThread& thread);

/// Makes the call on the host, which may block: only for a process that is alone(). A host signal for
/// the guest interrupts it; other host signals do not.
SyscallOutcome block_on_host(Call& call, OnSignal on_signal);

/// Tries the waits whose descriptors are ready. `block`: waits up to `timeout_ns` of host time (negative:
/// for ever) for the first event or host signal. `waker`: the thread whose call may have made them ready.
/// True if some thread became runnable.
bool poll_waits(Process& process, bool block, std::int64_t timeout_ns, const Thread* waker = nullptr);

/// True if some thread waits for a descriptor.
bool any_descriptor_waits(const Process& process);

}  // namespace elision::vm
