// SPDX-License-Identifier: Apache-2.0
// Host system calls on guest memory.
//
// Transactions are isolated from the kernel as from each other. Before the kernel or the host reads memory,
// transactions that have written it end; before it writes memory, transactions that have read or written it
// end. Only a call's result tells how much of a buffer it filled: transactions that have written the buffer
// end before the call, those that have read the filled part end after it. No guest code runs in between. The
// call's row in the table states the memory.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// Makes the call on the host with `call`'s arguments, some of which point to guest memory. It must not
/// block. While other threads exist, no other function may pass guest memory to the host.
long guest_call(const Call& call);
/// The same with another number and other arguments.
long guest_call(const Call& call, long number, std::uint64_t a0, std::uint64_t a1 = 0, std::uint64_t a2 = 0,
                std::uint64_t a3 = 0, std::uint64_t a4 = 0, std::uint64_t a5 = 0);

/// Handler of calls that the host can make with the guest's arguments.
SyscallOutcome pass_through(Call& call);

}  // namespace elision::vm
