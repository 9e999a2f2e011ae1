// SPDX-License-Identifier: Apache-2.0
// Calls that name a file: the host's, with paths translated (path_translation.h).
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_open(Call& call);      // open, openat, openat2, creat
SyscallOutcome sys_readlink(Call& call);  // readlink, readlinkat
/// Any call whose first or second argument is a path and that does not block.
SyscallOutcome sys_with_path(Call& call);     // path in argument 0
SyscallOutcome sys_with_path_at(Call& call);  // path in argument 1

SyscallOutcome sys_getdents(Call& call);

}  // namespace elision::vm
