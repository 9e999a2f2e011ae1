// SPDX-License-Identifier: Apache-2.0
// perf_event_open, and the calls that a descriptor of an event answers in its own way. Those return nothing
// for other descriptors.
#pragma once

#include <optional>

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_perf_event_open(Call& call);

std::optional<SyscallOutcome> read_event(Call& call);  // read, readv
std::optional<SyscallOutcome> ioctl_event(Call& call);
std::optional<SyscallOutcome> fcntl_event(Call& call);
std::optional<SyscallOutcome> map_event(Call& call);

/// The call has mapped [address, address + size) or changed its permissions.
void note_mapping(const Call& call, std::uint64_t address, std::uint64_t size);

}  // namespace elision::vm
