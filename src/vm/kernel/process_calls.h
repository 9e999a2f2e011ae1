// SPDX-License-Identifier: Apache-2.0
// Processes: birth (fork, vfork), program change (execve), waiting for children.
#pragma once

#include <optional>

#include "vm/kernel/call.h"

namespace elision::vm {

SyscallOutcome sys_clone(Call& call);
SyscallOutcome sys_clone3(Call& call);
SyscallOutcome sys_pidfd_open(Call& call);
SyscallOutcome sys_fork(Call& call);
SyscallOutcome sys_vfork(Call& call);
SyscallOutcome sys_execve(Call& call);
SyscallOutcome sys_execveat(Call& call);
SyscallOutcome sys_wait4(Call& call);
/// What wait4 for children of the host's finds right now: its result, or nothing if the call has to wait.
/// Argument 0 is as the host knows it.
std::optional<long> try_wait4(const Call& call);
SyscallOutcome sys_waitid(Call& call);

}  // namespace elision::vm
