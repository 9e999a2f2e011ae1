// SPDX-License-Identifier: Apache-2.0
// What one engine process hands to the next over execve: options, the guest program, and the process's
// origin.
//
// It travels in a memfd whose number the hidden verb `vm-exec FD` gets. The guest's environment is part of
// it, not of the host's execve: the engine's own dynamic loader never sees the guest's LD_PRELOAD or
// LD_LIBRARY_PATH, and the guest sees no variable of the engine's.
#pragma once

#include <string>

#include "vm/host/reserved_descriptors.h"
#include "vm/interface/fallible.h"
#include "vm/interface/options.h"
#include "vm/linux/load/loader.h"
#include "vm/linux/process/process_ids.h"

namespace elision::vm {

struct HandOver {
  Options options;
  ProgramRequest program;
  ProcessOrigin origin;
};

std::string encode_hand_over(const HandOver& hand_over);
Fallible<HandOver> decode_hand_over(const std::string& bytes);

/// A memfd that survives execve, numbered kFirstEngineDescriptor or above; a negative errno on failure.
int write_hand_over(const HandOver& hand_over);
/// Reads and closes `descriptor`.
Fallible<HandOver> read_hand_over(int descriptor);

}  // namespace elision::vm
