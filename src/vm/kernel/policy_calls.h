// SPDX-License-Identifier: Apache-2.0
// Scheduling policies. A thread has an ordinary one (SCHED_OTHER, SCHED_BATCH, SCHED_IDLE), which changes
// nothing here; real-time ones are refused, to root as well, as to a user without the rights for them.
#pragma once

#include "vm/kernel/call.h"

namespace elision::vm {

SyscallOutcome sys_sched_setscheduler(Call& call);
SyscallOutcome sys_sched_getscheduler(Call& call);
SyscallOutcome sys_sched_setparam(Call& call);
SyscallOutcome sys_sched_getparam(Call& call);
SyscallOutcome sys_sched_setattr(Call& call);
SyscallOutcome sys_sched_getattr(Call& call);

}  // namespace elision::vm
