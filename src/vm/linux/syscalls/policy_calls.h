// SPDX-License-Identifier: Apache-2.0
// Scheduling policies and nice values. A thread has an ordinary policy (SCHED_OTHER, SCHED_BATCH, SCHED_IDLE)
// and a nice value of its own, which change nothing here; real-time policies are refused, to root as well, as
// to a user without the rights for them.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// Of a new thread or process.
Scheduling inherited(const Scheduling& parent);
/// Gives the engine's host thread the nice value that other processes shall see; the host may refuse it.
void show_nice(int nice);

SyscallOutcome sys_sched_setscheduler(Call& call);
SyscallOutcome sys_sched_getscheduler(Call& call);
SyscallOutcome sys_sched_setparam(Call& call);
SyscallOutcome sys_sched_getparam(Call& call);
SyscallOutcome sys_sched_setattr(Call& call);
SyscallOutcome sys_sched_getattr(Call& call);
SyscallOutcome sys_getpriority(Call& call);
SyscallOutcome sys_setpriority(Call& call);

}  // namespace elision::vm
