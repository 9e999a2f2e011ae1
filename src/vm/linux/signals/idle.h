// SPDX-License-Identifier: Apache-2.0
// Waiting while no thread of the guest can run.
#pragma once

#include <optional>

#include "vm/linux/process/process.h"

namespace elision::vm {

/// Kernel::wait_for_event.
bool wait_while_idle(Process& process, std::optional<Nanoseconds> timer);

}  // namespace elision::vm
