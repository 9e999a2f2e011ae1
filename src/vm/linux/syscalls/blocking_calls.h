// SPDX-License-Identifier: Apache-2.0
// Calls that wait for others and have no readiness form: locks, System V IPC, FIFOs; and message queues,
// which have one. Each is tried without waiting first, but for the opening of a FIFO; what would wait goes to
// a helper thread of the host.
#pragma once

#include <string>

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_flock(Call& call);
SyscallOutcome sys_semop(Call& call);  // semop, semtimedop
SyscallOutcome sys_msgsnd(Call& call);
SyscallOutcome sys_msgrcv(Call& call);
SyscallOutcome sys_mq_transfer(Call& call);  // mq_timedsend, mq_timedreceive

/// fcntl with F_SETLKW or F_OFD_SETLKW.
SyscallOutcome wait_for_record_lock(Call& call);
/// open of `path` (argument `path_argument`), which may be a FIFO.
SyscallOutcome open_or_wait(Call& call, unsigned path_argument, int flags);
/// connect that found a full backlog on this machine.
SyscallOutcome wait_for_backlog(Call& call);

}  // namespace elision::vm
