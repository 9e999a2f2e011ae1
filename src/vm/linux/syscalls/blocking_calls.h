// SPDX-License-Identifier: Apache-2.0
// Calls that wait for others and that poll cannot wait for: locks, System V IPC, FIFOs. Each but the opening
// of a FIFO is first tried without waiting; then a helper thread of the host waits. Message queues are here
// too, though poll can wait for them.
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
/// connect to a local socket whose backlog is full.
SyscallOutcome wait_for_backlog(Call& call);

}  // namespace elision::vm
