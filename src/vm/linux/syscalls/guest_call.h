// SPDX-License-Identifier: Apache-2.0
// Host system calls that work on guest memory.
//
// Transactions of virtual CPUs are isolated from the kernel as from each other. Before the kernel or the host
// reads memory, transactions that have written it end; before it writes memory, those that have read or
// written it do. How much of a buffer a call fills, only its result tells: transactions that have written the
// buffer end before the call, those that have read it end after the call, as far as it was filled. No guest
// code runs in between. The row of a call in the table of system calls states what memory it reaches.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// Makes the call on the host with `call`'s arguments, some of which point to guest memory. It must not
/// block. The only way to hand guest memory to the host while others threads exist.
long guest_call(const Call& call);
/// The same with another number and other arguments than `call` has.
long guest_call(const Call& call, long number, std::uint64_t a0, std::uint64_t a1 = 0, std::uint64_t a2 = 0,
                std::uint64_t a3 = 0, std::uint64_t a4 = 0, std::uint64_t a5 = 0);

/// The handler of calls that the host can take as they are.
SyscallOutcome pass_through(Call& call);

}  // namespace elision::vm
