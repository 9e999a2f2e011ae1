// SPDX-License-Identifier: Apache-2.0
// Ends a process with a core file. The host's kernel writes it; registers, memory and auxiliary vector in it
// are the guest's.
#pragma once

#include <csignal>
#include <cstdint>
#include <vector>

#include "vm/interface/guest_state.h"

namespace elision::vm {

/// Ends the host process by the signal of `info`, with the registers of `state` in place, as if the guest's
/// instruction had run natively.
[[noreturn]] void die_with_registers(const siginfo_t& info, const GuestState& state,
                                     const std::vector<std::uint64_t>& auxiliary_vector);

}  // namespace elision::vm
