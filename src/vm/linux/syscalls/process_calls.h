// SPDX-License-Identifier: Apache-2.0
// New processes (fork, vfork) and programs (execve). Waiting for children is in child_waits.h.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_clone(Call& call);
SyscallOutcome sys_clone3(Call& call);
SyscallOutcome sys_pidfd_open(Call& call);
SyscallOutcome sys_fork(Call& call);
SyscallOutcome sys_vfork(Call& call);
SyscallOutcome sys_execve(Call& call);
SyscallOutcome sys_execveat(Call& call);

}  // namespace elision::vm
