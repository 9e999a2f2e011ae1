// SPDX-License-Identifier: Apache-2.0
// getrlimit, setrlimit and prlimit, and the end of a process that exceeds its limit on CPU time.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// True if RLIMIT_NPROC lets `thread` start another. Only the threads of this process count.
bool may_add_thread(const Process& process, const KernelThread& thread);

/// Sends SIGXCPU and SIGKILL when the process reaches its limit on CPU time.
void watch_cpu_limit(Process& process);

SyscallOutcome sys_getrlimit(Call& call);
SyscallOutcome sys_setrlimit(Call& call);
SyscallOutcome sys_prlimit64(Call& call);

}  // namespace elision::vm
