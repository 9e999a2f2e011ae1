// SPDX-License-Identifier: Apache-2.0
// Parks threads whose call must wait, and ends the waits. Only a call whose row states Effects::kBlocks can
// wait, and the row says what a signal does to the wait.
#pragma once

#include "vm/host/host_helper.h"
#include "vm/linux/process/call.h"

namespace elision::vm {

/// Parks the calling thread. At `deadline` (engine time) the call ends with `timeout_result`.
SyscallOutcome park(Call& call, Wait wait, Nanoseconds deadline = kNoDeadline, long timeout_result = 0);

/// Ends a completed wait (RAX is set) and makes the thread runnable.
void end_wait(Process& process, KernelThread& thread, const Thread* waker);

/// Ends a wait for a signal. The caller then edits the registers and unparks the thread. Returns the call's
/// result if the call completed just then.
std::optional<long> abandon_wait(KernelThread& thread);

/// Turns the host's result into the call's: copies out, translates. Null: leaves it.
using SettleHelper = std::function<long(const std::vector<char>& buffer, long result)>;

/// Makes the call on a host thread of its own (host_helper.h): for calls that may wait for other threads, the
/// guest's included, and that no poll can wait for.
SyscallOutcome wait_on_helper(Call& call, HelperCall helper_call, Nanoseconds deadline = kNoDeadline,
                              long timeout_result = 0, SettleHelper settle = nullptr);

/// Makes the call on the host, where it may block. Only for a process that is alone(). A host signal for the
/// guest interrupts the call; others do not.
SyscallOutcome block_on_host(Call& call);

/// Tries the waits whose descriptors are ready. `block`: first waits up to `timeout_ns` of host time
/// (negative: without limit) for an event or host signal. `waker`: the thread whose call may have made
/// descriptors ready. True if some thread became runnable.
bool poll_waits(Process& process, bool block, std::int64_t timeout_ns, const Thread* waker = nullptr);

/// True if some thread waits for a descriptor.
bool any_descriptor_waits(const Process& process);

}  // namespace elision::vm
