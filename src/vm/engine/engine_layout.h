// SPDX-License-Identifier: Apache-2.0
// Keeps the engine's own memory out of addresses that the guest may need.
//
// Sanitizers in the guest map fixed addresses over most of the address space, except where Linux places
// programs and libraries. The engine is an ordinary program, so its memory lies in the same areas, above the
// guest's (vm/interface/guest_layout.h). It lies elsewhere only if the kernel randomizes more address bits
// than usual (vm.mmap_rnd_bits above 28).
#pragma once

#include <string>

namespace elision::vm {

/// True if `maps`, in the format of /proc/self/maps, has memory at addresses that guests may need.
bool lies_in_the_way(const std::string& maps);

/// If the engine's memory is in the way, restarts this process without address randomization. Returns if it
/// is not, or if the system forbids that; then sanitizers in the guest may fail to map their memory.
void leave_the_way();

}  // namespace elision::vm
