// SPDX-License-Identifier: Apache-2.0
// wait4 and waitid. A process's children are those of the host's process, its companions, and threads that it
// traces (companions.h), which the host does not know. Each wait looks at all.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_wait4(Call& call);
SyscallOutcome sys_waitid(Call& call);

/// A companion or a traced thread has changed: ends the waits that this ends.
void wake_companion_waits(Process& process);

}  // namespace elision::vm
