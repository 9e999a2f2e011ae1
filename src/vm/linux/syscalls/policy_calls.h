// SPDX-License-Identifier: Apache-2.0
// Scheduling policies and nice values. Each thread has an ordinary policy (SCHED_OTHER, SCHED_BATCH,
// SCHED_IDLE) and a nice value, both without effect on virtual time. Real-time policies are refused as to an
// unprivileged user, even to root.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// Scheduling of a new thread or process.
Scheduling inherited(const Scheduling& parent);
/// Sets the nice value of the engine's host thread, which other processes see. The host may refuse it.
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
