// SPDX-License-Identifier: Apache-2.0
// ptrace for companions that trace threads of their process: attach, read registers, read and write memory,
// continue, detach. Attaching stops a thread where it is. A call in which it waits continues to wait; Linux
// would interrupt and restart it.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// The handler for companions; others get ENOSYS.
SyscallOutcome sys_ptrace(Call& call);

/// The engine has stopped `thread`.
void note_held(Process& process, KernelThread& thread);

/// `tracer` ends: lets the threads run on that it traced.
void release_traced(Process& process, KernelThread& tracer);

}  // namespace elision::vm
