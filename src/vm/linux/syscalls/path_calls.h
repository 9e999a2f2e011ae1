// SPDX-License-Identifier: Apache-2.0
// Calls that name a file: made on the host, with paths translated (path_translation.h).
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_open(Call& call);
SyscallOutcome sys_creat(Call& call);
SyscallOutcome sys_openat(Call& call);
SyscallOutcome sys_openat2(Call& call);
SyscallOutcome sys_readlink(Call& call);
SyscallOutcome sys_readlinkat(Call& call);
/// Handlers of calls that take a path and do not block.
SyscallOutcome sys_with_paths(Call& call);  // every text argument of its row is a path

SyscallOutcome sys_getdents(Call& call);  // getdents, getdents64

}  // namespace elision::vm
