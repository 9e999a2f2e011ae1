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
/// Calls that take a range: memory outside the guest's mappings does not exist for them.
SyscallOutcome sys_with_range(Call& call);          // mlock, mlock2, munlock
SyscallOutcome sys_with_aligned_range(Call& call);  // mincore, msync
SyscallOutcome sys_brk(Call& call);
SyscallOutcome sys_shmat(Call& call);
SyscallOutcome sys_shmdt(Call& call);

}  // namespace elision::vm
