// SPDX-License-Identifier: Apache-2.0
// System calls about clocks, sleeps and CPU time.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_clock_gettime(Call& call);
SyscallOutcome sys_clock_getres(Call& call);
SyscallOutcome sys_clock_settime(Call& call);
SyscallOutcome sys_adjtimex(Call& call);  // adjtimex, clock_adjtime
SyscallOutcome sys_gettimeofday(Call& call);
SyscallOutcome sys_time(Call& call);
SyscallOutcome sys_nanosleep(Call& call);
SyscallOutcome sys_clock_nanosleep(Call& call);
SyscallOutcome sys_times(Call& call);
SyscallOutcome sys_sysinfo(Call& call);
SyscallOutcome sys_getrusage(Call& call);

}  // namespace elision::vm
