// SPDX-License-Identifier: Apache-2.0
// The futex system calls, emulated: waiters stand in FIFO queues and wait in virtual time.
#pragma once

#include "vm/kernel/call.h"

namespace elision::vm {

SyscallOutcome sys_futex(Call& call);
SyscallOutcome sys_set_robust_list(Call& call);
SyscallOutcome sys_get_robust_list(Call& call);

/// Wakes up to `count` waiters of `address` whose bits meet `bits`; returns how many.
unsigned wake_futex(Process& process, const Thread* waker, std::uint64_t address, unsigned count,
                    std::uint32_t bits);

/// What a thread's end does to futexes: marks robust locks that it held, clears its child-tid word.
void release_futexes_of(Process& process, KernelThread& thread);

/// The end of the whole process, with all that its threads hold of locks that other processes may wait for.
void release_shared_futexes(Process& process);

}  // namespace elision::vm
