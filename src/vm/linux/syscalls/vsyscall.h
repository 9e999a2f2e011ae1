// SPDX-License-Identifier: Apache-2.0
// The vsyscall page of old programs, as with Linux's vsyscall=xonly: a jump to one of its three addresses
// makes a system call and returns; any other access faults.
#pragma once

#include "vm/linux/process/process.h"

namespace elision::vm {

/// Its line in /proc/self/maps.
inline constexpr const char* kVsyscallMapping =
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

/// `self` could not fetch its instruction. If it stands at one of the three addresses: makes the call,
/// returns from it, and returns true.
bool make_vsyscall(Process& process, KernelThread& self);

}  // namespace elision::vm
