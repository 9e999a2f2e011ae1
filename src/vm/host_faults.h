// SPDX-License-Identifier: Apache-2.0
// Host signals that translated code raises: they become the guest's faults.
#pragma once

#include <csignal>

namespace elision::vm {

/// Takes over SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP, on a stack of their own. A fault outside
/// translated code is the engine's own: it says so and dies by the signal.
void install_fault_handlers();

/// The signal information of the last fault that translated code raised.
const siginfo_t& host_fault_info();

}  // namespace elision::vm
