// SPDX-License-Identifier: Apache-2.0
// Memory system calls: thin forwarding to AddressSpace.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_mmap(Call& call);
SyscallOutcome sys_munmap(Call& call);
SyscallOutcome sys_mremap(Call& call);
SyscallOutcome sys_mprotect(Call& call);
SyscallOutcome sys_pkey_mprotect(Call& call);
SyscallOutcome sys_madvise(Call& call);
/// mincore, msync, mlock, mlock2 and munlock: only what the guest has mapped is there for them.
SyscallOutcome sys_with_range(Call& call);
SyscallOutcome sys_brk(Call& call);
SyscallOutcome sys_shmat(Call& call);
SyscallOutcome sys_shmdt(Call& call);

}  // namespace elision::vm
