// SPDX-License-Identifier: Apache-2.0
// Signal system calls, emulated per virtual thread.
#pragma once

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_rt_sigaction(Call& call);
SyscallOutcome sys_rt_sigprocmask(Call& call);
SyscallOutcome sys_rt_sigpending(Call& call);
SyscallOutcome sys_rt_sigsuspend(Call& call);
SyscallOutcome sys_rt_sigtimedwait(Call& call);
SyscallOutcome sys_rt_sigqueueinfo(Call& call);
SyscallOutcome sys_rt_tgsigqueueinfo(Call& call);
SyscallOutcome sys_rt_sigreturn(Call& call);
SyscallOutcome sys_sigaltstack(Call& call);
SyscallOutcome sys_pause(Call& call);
SyscallOutcome sys_kill(Call& call);
SyscallOutcome sys_tkill(Call& call);
SyscallOutcome sys_tgkill(Call& call);

/// Replaces the caller's mask by the guest's set at `address` until the call ends (ppoll, pselect,
/// epoll_pwait, rt_sigsuspend). Null `address`: does nothing. Returns a negative errno on failure.
long replace_mask_for_call(Call& call, std::uint64_t address, std::uint64_t size);

}  // namespace elision::vm
