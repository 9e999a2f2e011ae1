// SPDX-License-Identifier: Apache-2.0
// elision_speculating() of include/elision/elision.h, where the library answers it.
#include "htm/always_abort.h"
#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/process.h"

/// Also for speculation that libelision-api began, which the design in force may know nothing of.
ELISION_EXPORT int elision_speculating(void) {
  using elision::runtime::process;
  return elision::runtime::entry_points.speculating() != 0 ||
         (process.cpu.virtual_always_abort && elision::htm::VirtualAlwaysAbort::in_always_abort());
}
