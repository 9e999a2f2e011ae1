// SPDX-License-Identifier: Apache-2.0
// ptrace, as far as a process looks at its own threads from a companion: attach, read and write registers and
// memory, continue, detach. Attaching holds a thread where it is: a call in which it waits goes on waiting,
// where Linux interrupts and restarts it.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// Only for companions: ENOSYS to others.
SyscallOutcome sys_ptrace(Call& call);

/// The engine has stopped `thread` where it stands.
void note_held(Process& process, KernelThread& thread);

/// `tracer` ends: what it traced goes on.
void release_traced(Process& process, KernelThread& tracer);

}  // namespace elision::vm
