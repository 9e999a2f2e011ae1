// SPDX-License-Identifier: Apache-2.0
// elision_speculating() of include/elision/elision.h, as the preload library defines it.
#include "htm/always_abort.h"
#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/process.h"

/// Also true in a speculation that libelision-api began, which the current design may not know.
ELISION_EXPORT int elision_speculating(void) {
  using elision::runtime::process;
  return elision::runtime::entry_points.speculating() != 0 ||
         (process.cpu.virtual_always_abort && elision::htm::VirtualAlwaysAbort::in_always_abort());
}
