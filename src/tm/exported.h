// SPDX-License-Identifier: Apache-2.0
// What the files with functions of the ABI share. Only symbols with ELISION_TM_EXPORT are visible;
// versions.map gives them their versions.
#pragma once

#include "tm/hardware.h"
#include "tm/software.h"
#include "tm/thread.h"

#define ELISION_TM_EXPORT extern "C" __attribute__((visibility("default"), used))

namespace elision::tm {

/// What follows cannot be instrumented or undone. In a hardware transaction it may still run: then either
/// the hardware undoes it, or it aborts.
inline void go_irrevocable(Thread& thread) {
  switch (thread.path) {
    case Path::kNone:
    case Path::kHardware:
      return;
    case Path::kLogged:
      thread.unlogged = true;
      return;
    case Path::kFallback:
      become_serial(thread);
      break;
    case Path::kSerial:
      break;
  }
  thread.is_irrevocable = true;
}

}  // namespace elision::tm
