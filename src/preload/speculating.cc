// SPDX-License-Identifier: Apache-2.0
// elision_speculating() of include/elision/elision.h, where the library answers it.
#include "preload/exported.h"
#include "runtime/entry_points.h"

ELISION_EXPORT int elision_speculating(void) { return elision::runtime::entry_points.speculating(); }
