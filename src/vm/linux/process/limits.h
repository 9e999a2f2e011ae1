// SPDX-License-Identifier: Apache-2.0
// What the guest's resource limits allow (getrlimit(2)). Process::limits is what the guest set, or the first
// process found; children and new program images inherit it. host_limits.h has the host's.
#pragma once

#include <cstdint>
#include <string>

#include "vm/linux/process/process.h"

namespace elision::vm {

/// True if the guest may map `bytes` more, of which `data_bytes` are private and writable.
bool may_map(const Process& process, std::uint64_t bytes, std::uint64_t data_bytes);

/// How large the mapping of an initial stack is to be that holds `contents` bytes from the start.
std::uint64_t stack_bytes(const LimitTable& limits, std::uint64_t contents);

/// How many bytes arguments and environment may have (execve(2)).
std::uint64_t most_argument_bytes(const LimitTable& limits);

/// A new limit on the stack: the stack reaches as far down as it says, unless something lies in the way. What
/// was touched stays.
void resize_stack(Process& process, const rlimit& limit);

/// The text of /proc/self/limits.
std::string describe_limits(const LimitTable& limits);

}  // namespace elision::vm
