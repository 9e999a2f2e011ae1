// SPDX-License-Identifier: Apache-2.0
// Turns host signals in translated code into the guest's faults.
#pragma once

#include <csignal>

#include "vm/interface/engine_services.h"

namespace elision::vm {

/// Installs handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP, on an alternate stack. A fault outside
/// translated code is a failure of the engine (failure.h).
void install_fault_handlers();

/// From now on a fault in the engine ends the process with `signal`, because the process is dying of that
/// signal and the engine only writes the crash report. 0 ends this.
void die_if_faulting(int signal);

/// The last fault in translated code: its signal information, and the hardware's report.
const siginfo_t& host_fault_info();
const Trap& host_fault_trap();

}  // namespace elision::vm
