// SPDX-License-Identifier: Apache-2.0
// Interval timers, POSIX timers and timerfd, all in virtual time.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_alarm(Call& call);
SyscallOutcome sys_setitimer(Call& call);
SyscallOutcome sys_getitimer(Call& call);
SyscallOutcome sys_timer_create(Call& call);
SyscallOutcome sys_timer_settime(Call& call);
SyscallOutcome sys_timer_gettime(Call& call);
SyscallOutcome sys_timer_getoverrun(Call& call);
SyscallOutcome sys_timer_delete(Call& call);
SyscallOutcome sys_timerfd_create(Call& call);
SyscallOutcome sys_timerfd_settime(Call& call);
SyscallOutcome sys_timerfd_gettime(Call& call);
SyscallOutcome sys_close(Call& call);
SyscallOutcome sys_close_range(Call& call);
SyscallOutcome sys_dup2(Call& call);  // dup2, dup3

}  // namespace elision::vm
