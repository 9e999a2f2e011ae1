// SPDX-License-Identifier: Apache-2.0
// The counters of this process (abi/tm_counters.h): in a file if a directory is given, else in plain
// memory.
#pragma once

#include "abi/tm_counters.h"

namespace elision::tm {

/// Makes the region, with a file of its own if `process` names a directory that takes one. Also in the
/// child of a fork.
void open_counters();

/// A slot for a new thread.
abi::TmCounters* claim_counters();

/// The thread's slot may go to another thread.
void give_counters_back(abi::TmCounters* counters);

}  // namespace elision::tm
