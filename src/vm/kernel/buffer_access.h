// SPDX-License-Identifier: Apache-2.0
// Which guest memory the host reads or writes in a system call, so that the virtual machine's caches
// and transactions learn of it.
#pragma once

#include "vm/kernel/call.h"

namespace elision::vm {

/// Announces the buffers of `call` before it is made. Nothing to do while only one thread exists.
void announce_buffers(Call& call);
/// Announces what a call that returned `result` bytes wrote beyond what was announced before.
void announce_result(Call& call, long result);

}  // namespace elision::vm
