// SPDX-License-Identifier: Apache-2.0
// getrlimit, setrlimit and prlimit of the guest, and the end of a process that computes for longer than it
// may.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// True if `thread` may start another: RLIMIT_NPROC, of which the threads of this process alone are counted.
bool may_add_thread(const Process& process, const KernelThread& thread);

/// Sends SIGXCPU and SIGKILL when the process has computed for as long as its limit says.
void watch_cpu_limit(Process& process);

SyscallOutcome sys_getrlimit(Call& call);
SyscallOutcome sys_setrlimit(Call& call);
SyscallOutcome sys_prlimit64(Call& call);

}  // namespace elision::vm
