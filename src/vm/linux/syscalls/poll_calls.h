// SPDX-License-Identifier: Apache-2.0
// Calls that wait for several descriptors, and for file locks.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_poll(Call& call);
SyscallOutcome sys_ppoll(Call& call);
SyscallOutcome sys_select(Call& call);
SyscallOutcome sys_pselect6(Call& call);
SyscallOutcome sys_epoll_wait(Call& call);  // epoll_wait, epoll_pwait
SyscallOutcome sys_epoll_pwait2(Call& call);
SyscallOutcome sys_fcntl(Call& call);

}  // namespace elision::vm
