// SPDX-License-Identifier: Apache-2.0
// Calls that move data through a descriptor and may wait for it: read, write, send, receive, accept.
//
// A process with one thread and no timer lets the host block. Otherwise the thread is parked until the
// descriptor is ready, and then makes the call. Limit: another process that accepts from the same socket or
// reads from the same terminal may be faster; the call then blocks the host.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_process_vm_readv(Call& call);
SyscallOutcome sys_read(Call& call);  // read, readv
SyscallOutcome sys_write(Call& call);
SyscallOutcome sys_writev(Call& call);
SyscallOutcome sys_recvfrom(Call& call);
SyscallOutcome sys_recvmsg(Call& call);
SyscallOutcome sys_recvmmsg(Call& call);
SyscallOutcome sys_sendto(Call& call);
SyscallOutcome sys_sendmsg(Call& call);
SyscallOutcome sys_sendmmsg(Call& call);
SyscallOutcome sys_vmsplice(Call& call);
SyscallOutcome sys_accept(Call& call);  // accept, accept4
SyscallOutcome sys_connect(Call& call);
SyscallOutcome sys_sendfile(Call& call);
SyscallOutcome sys_splice(Call& call);
SyscallOutcome sys_tee(Call& call);

/// True if `descriptor` is ready for `events`, or will never block (error, hang-up, not open).
bool is_ready(int descriptor, short events);
bool is_nonblocking(int descriptor);

}  // namespace elision::vm
