// SPDX-License-Identifier: Apache-2.0
// Calls that take or return process numbers, which differ between guest and host (process_ids.h).
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_getpid(Call& call);
SyscallOutcome sys_getppid(Call& call);
SyscallOutcome sys_process_group(Call& call);  // getpgrp, getpgid, getsid, setsid: number in, number out
SyscallOutcome sys_setpgid(Call& call);
SyscallOutcome sys_with_pid(Call& call);  // argument 0 names a process or thread of the guest, or is 0
SyscallOutcome sys_ioctl(Call& call);
SyscallOutcome sys_prctl(Call& call);

}  // namespace elision::vm
