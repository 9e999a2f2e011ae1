// SPDX-License-Identifier: Apache-2.0
// Credentials of guest threads: the calls that change them, and host calls made with them.
#pragma once

#include <optional>

#include "vm/host/credentials.h"
#include "vm/linux/process/call.h"

namespace elision::vm {

/// Makes a host call with the credentials of `thread`.
long call_as(const KernelThread& thread, long number, std::uint64_t a0 = 0, std::uint64_t a1 = 0,
             std::uint64_t a2 = 0, std::uint64_t a3 = 0, std::uint64_t a4 = 0, std::uint64_t a5 = 0);

/// True if `thread` has this capability (CAP_ of linux/capability.h) in effect.
bool is_capable(const KernelThread& thread, unsigned capability);

/// The credentials that a process made by `thread` has to adopt; none if they are the engine's. Fails if the
/// process could not adopt them.
OrErrno<std::optional<Credentials>> credentials_for_child(const KernelThread& thread);

/// setuid, setgroups, capset and the like. They change the calling thread alone.
SyscallOutcome sys_set_credentials(Call& call);

}  // namespace elision::vm
