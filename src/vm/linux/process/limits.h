// SPDX-License-Identifier: Apache-2.0
// The guest's resource limits (getrlimit(2)), applied. Process::limits holds the values: the first process's
// initial ones or those that the guest set. Children and new images inherit them. host_limits.h has the
// host's.
#pragma once

#include <cstdint>
#include <string>

#include "vm/linux/process/process.h"

namespace elision::vm {

/// True if the guest may map `bytes` more, of which `data_bytes` are private and writable.
bool may_map(const Process& process, std::uint64_t bytes, std::uint64_t data_bytes);

/// Size of the mapping for an initial stack that starts with `contents` bytes.
std::uint64_t stack_bytes(const LimitTable& limits, std::uint64_t contents);

/// Most bytes for arguments and environment (execve(2)).
std::uint64_t most_argument_bytes(const LimitTable& limits);

/// Moves the end of the stack to a new limit, unless another mapping is in the way. Touched pages stay.
void resize_stack(Process& process, const rlimit& limit);

/// The text of /proc/self/limits.
std::string describe_limits(const LimitTable& limits);

}  // namespace elision::vm
