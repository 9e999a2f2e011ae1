// SPDX-License-Identifier: Apache-2.0
// The state of the library in this process: set up once, at load or by the first transaction, and only read
// from then on.
#pragma once

#include "abi/tm_variables.h"

namespace elision::tm {

struct Process {
  abi::TmMode mode = abi::TmMode::kSerial;  // in force: serial if hardware transactions do not commit
  bool two_speed = true;                    // ale: the fast path may run without write logging
  bool patient = true;                      // waits for held locks and fallbacks before another try
  bool has_rtm = false;
  // Transactions begin in begin.S while no lock is held and no fallback runs.
  bool is_quick = false;
  const char* counters_directory = nullptr;
};

extern constinit Process process;

/// Sets the library up once. Ends the process with 2 and one line if the environment asks for an unknown
/// mode or fast path, or for unsafe-lr without accepting it.
void ensure_set_up();

}  // namespace elision::tm
