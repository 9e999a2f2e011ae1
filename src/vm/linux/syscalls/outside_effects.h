// SPDX-License-Identifier: Apache-2.0
// What keeps a copy of a process from running on by itself: effects of its calls outside of it, and open
// files whose position or contents it would share with the other copies.
#pragma once

#include <string>

#include "vm/linux/process/call.h"

namespace elision::vm {

/// What the call may change outside of the process, or which state outside it depends on from now on, in
/// words that follow "the program": "calls socket". Empty: nothing. The lock library's counters do not count:
/// each copy opens its own.
std::string outside_effect(const Call& call);

/// Which of the descriptors that the process has opened a copy cannot have for its own, in such words; empty:
/// none. Those that it has inherited are shared anyway.
std::string why_descriptors_are_shared(const Process& process);

/// In a copy: opens each file anew, at the position where it is, so that the others do not move it.
void reopen_files(const Process& process);

}  // namespace elision::vm
