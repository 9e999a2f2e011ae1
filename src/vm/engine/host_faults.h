// SPDX-License-Identifier: Apache-2.0
// Host signals that translated code raises: they become the guest's faults.
#pragma once

#include <csignal>

#include "vm/interface/engine_services.h"

namespace elision::vm {

/// Takes over SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP, on a stack of their own. A fault outside
/// translated code is the engine's own: a failure (failure.h).
void install_fault_handlers();

/// From now on a fault of the engine's own ends the process by `signal`: it is dying of that already, and
/// only looks at what the guest left.
void die_if_faulting(int signal);

/// The last fault that translated code raised: its signal information, and as the hardware reported it.
const siginfo_t& host_fault_info();
const Trap& host_fault_trap();

}  // namespace elision::vm
