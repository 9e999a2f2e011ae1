// SPDX-License-Identifier: Apache-2.0
// The futex system calls, emulated: waiters wait in FIFO queues, in virtual time.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_futex(Call& call);
SyscallOutcome sys_set_robust_list(Call& call);
SyscallOutcome sys_get_robust_list(Call& call);

}  // namespace elision::vm
