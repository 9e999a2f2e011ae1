// SPDX-License-Identifier: Apache-2.0
// Where the engine's own memory lies in the address space that it shares with the guest.
//
// Sanitizers map fixed addresses over most of the address space and leave programs those where Linux puts
// them. The engine, an ordinary program, has its memory there too, above the guest's
// (vm/interface/guest_layout.h). Only where the kernel draws addresses from more of them than usual
// (vm.mmap_rnd_bits above 28) does it land elsewhere.
#pragma once

#include <string>

namespace elision::vm {

/// True if `maps`, as /proc/self/maps has it, names memory where guests may need theirs.
bool lies_in_the_way(const std::string& maps);

/// Starts this process again from its beginning, with addresses that are not drawn, if its memory lies in the
/// way. Returns if it does not, or if the system forbids that (then sanitizers may say that they cannot map
/// their memory).
void leave_the_way();

}  // namespace elision::vm
