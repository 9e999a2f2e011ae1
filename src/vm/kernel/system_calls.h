// SPDX-License-Identifier: Apache-2.0
// The table of system calls by number.
#pragma once

#include "vm/kernel/call.h"

namespace elision::vm {

/// The handler of system call `number`; null for a number that is not known.
CallHandler find_call_handler(std::uint64_t number);

/// True if the call looks which descriptors are ready.
bool asks_for_readiness(std::uint64_t number);
/// True if the call may make a descriptor ready that another thread of this process waits for.
bool may_make_ready(std::uint64_t number);

/// Hands the call to the host unchanged: its arguments are valid there. For calls that cannot block.
SyscallOutcome pass_through(Call& call);

}  // namespace elision::vm
