// SPDX-License-Identifier: Apache-2.0
// The end of a process that leaves a core file: the host's kernel writes it, but what debuggers look for in
// it is the guest's: registers of the thread that dies, memory (at its own addresses anyway) and auxiliary
// vector.
#pragma once

#include <csignal>
#include <cstdint>
#include <vector>

#include "vm/interface/guest_state.h"

namespace elision::vm {

/// Ends the host process by the signal of `info` with the registers of `state` in place, as if the guest's
/// instruction had been executed natively.
[[noreturn]] void die_with_registers(const siginfo_t& info, const GuestState& state,
                                     const std::vector<std::uint64_t>& auxiliary_vector);

}  // namespace elision::vm
