// SPDX-License-Identifier: Apache-2.0
// CPUID of the virtual CPU, the same on every host.
#pragma once

#include <cstdint>

#include "machine/description.h"
#include "vm/interface/guest_state.h"

namespace elision::vm {

/// The state components that the guest may use: x87, SSE, AVX.
inline constexpr std::uint64_t kVirtualXcr0 = 7;

/// Executes CPUID: leaf in EAX, subleaf in ECX; results in RAX, RBX, RCX and RDX, zero-extended.
void virtual_cpuid(const machine::Description& machine, unsigned cpus, unsigned cpu,
                   std::uint64_t (&gpr)[kGprCount]);

}  // namespace elision::vm
