// SPDX-License-Identifier: Apache-2.0
// Starts the virtual machine. Called by the command line.
#pragma once

#include <string>
#include <vector>

#include "vm/interface/options.h"

namespace elision::vm {

/// The file in Options::stats_directory that says why a guest process could not be started, in one line. The
/// exit code alone could be the guest's.
inline constexpr const char* kNotStartedFile = "not-started";

/// Writes that file if `options` name an existing directory.
void leave_not_started(const Options& options, const std::string& why);

/// Runs `program`, the path of a file, with `argv` and `environment` on the machine of `options`. The process
/// ends with the guest's exit status or signal. Returns only if the guest could not be started: prints one
/// line to stderr, writes kNotStartedFile and returns 2.
int run_virtual_machine(const Options& options, const std::string& program,
                        const std::vector<std::string>& argv, char** environment);

/// Continues after a guest's execve. `descriptor` holds what the process passed on (read_hand_over).
int resume_virtual_machine(int descriptor);

}  // namespace elision::vm
