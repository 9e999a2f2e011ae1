// SPDX-License-Identifier: Apache-2.0
// Threads of this process: start, end, numbers, CPUs, segment bases.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

/// clone with CLONE_THREAD (process_calls.cc has the other kinds).
SyscallOutcome clone_thread(Call& call);

/// Starts the thread that clone's arguments describe and adds it to `list`. Returns its number or a negative
/// errno.
long add_thread(Call& call, std::vector<std::unique_ptr<KernelThread>>& list);

SyscallOutcome sys_exit(Call& call);
SyscallOutcome sys_exit_group(Call& call);
SyscallOutcome sys_gettid(Call& call);
SyscallOutcome sys_set_tid_address(Call& call);
SyscallOutcome sys_arch_prctl(Call& call);
SyscallOutcome sys_sched_yield(Call& call);
SyscallOutcome sys_sched_getaffinity(Call& call);
SyscallOutcome sys_sched_setaffinity(Call& call);
SyscallOutcome sys_getcpu(Call& call);
SyscallOutcome sys_getrandom(Call& call);
SyscallOutcome sys_membarrier(Call& call);

/// The live thread numbered `tid`, or null.
KernelThread* find_thread(Process& process, int tid);

/// Writes the statistics and ends the host process.
[[noreturn]] void end_process(Process& process, int exit_code);

}  // namespace elision::vm
