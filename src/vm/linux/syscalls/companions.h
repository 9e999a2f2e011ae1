// SPDX-License-Identifier: Apache-2.0
// Companions: processes that share this one's memory, files and folders and run beside it (clone with
// CLONE_VM, CLONE_FILES and CLONE_FS, without CLONE_THREAD and CLONE_VFORK). LeakSanitizer looks for pointers
// from one.
//
// To the engine a companion is a thread like any other; the host does not know of it. To the guest it has its
// own process number, parent, signal actions and exit status. It can start no threads, processes or programs,
// and ends with its process.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// clone for a companion.
SyscallOutcome clone_companion(Call& call);

/// Handlers of calls about what a companion has of its own. Its other calls are handled like a thread's.
SyscallOutcome companion_getpid(Call& call);
SyscallOutcome companion_getppid(Call& call);
SyscallOutcome companion_prctl(Call& call);
SyscallOutcome companion_exit(Call& call);  // exit, exit_group

/// The live companion with this process number, or null.
KernelThread* find_companion(Process& process, int pid);

/// The process number that the guest sees for `thread`.
int process_number(const Process& process, const KernelThread& thread);

/// `thread` ends with `code`. If it is traced, its tracer's wait returns that.
void report_end_to_tracer(Process& process, KernelThread& thread, int code);

}  // namespace elision::vm
