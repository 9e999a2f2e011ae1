// SPDX-License-Identifier: Apache-2.0
// Parking of threads whose call must wait, and the events that end the waits. Only a call whose row states
// Effects::kBlocks can wait, and the row says what a signal does to the wait.
#pragma once

#include "vm/host/host_helper.h"
#include "vm/linux/process/call.h"

namespace elision::vm {

/// Parks the calling thread. At `deadline` (engine time) the call ends with `timeout_result`.
SyscallOutcome park(Call& call, Wait wait, Nanoseconds deadline = kNoDeadline, long timeout_result = 0);

/// Ends a wait that was completed (RAX is set) and makes the thread runnable.
void end_wait(Process& process, KernelThread& thread, const Thread* waker);

/// Ends a wait because a signal is to be delivered; the caller edits the registers, then unparks. The call's
/// result if it ended just so.
std::optional<long> abandon_wait(KernelThread& thread);

/// What a helper makes of a result of the host: copies out, translates. Null: nothing.
using SettleHelper = std::function<long(const std::vector<char>& buffer, long result)>;

/// Lets a host thread of its own make the call (host_helper.h): for what may wait for others, our own threads
/// among them, and has no readiness form.
SyscallOutcome wait_on_helper(Call& call, HelperCall helper_call, Nanoseconds deadline = kNoDeadline,
                              long timeout_result = 0, SettleHelper settle = nullptr);

/// Makes the call on the host, which may block: only for a process that is alone(). A host signal for
/// the guest interrupts it; other host signals do not.
SyscallOutcome block_on_host(Call& call);

/// Tries the waits whose descriptors are ready. `block`: waits up to `timeout_ns` of host time (negative:
/// for ever) for the first event or host signal. `waker`: the thread whose call may have made them ready.
/// True if some thread became runnable.
bool poll_waits(Process& process, bool block, std::int64_t timeout_ns, const Thread* waker = nullptr);

/// True if some thread waits for a descriptor.
bool any_descriptor_waits(const Process& process);

}  // namespace elision::vm
