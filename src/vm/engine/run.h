// SPDX-License-Identifier: Apache-2.0
// The virtual machine's front door: what the command line calls.
#pragma once

#include <string>
#include <vector>

#include "vm/interface/options.h"

namespace elision::vm {

/// A file of this name in Options::stats_directory says that a guest's process could not be started, and why,
/// in one line: an exit code alone could be the guest's own.
inline constexpr const char* kNotStartedFile = "not-started";

/// Writes that file, if `options` name a directory and it exists.
void leave_not_started(const Options& options, const std::string& why);

/// Runs `program` (the path of a file; argv[0] as the program shall see it) with `environment` on the
/// machine that `options` describe. The process ends as the guest does. Returns only if the guest could not
/// be started: 2, after one line on stderr, and kNotStartedFile is there.
int run_virtual_machine(const Options& options, const std::string& program,
                        const std::vector<std::string>& argv, char** environment);

/// Continues in the process image that a guest's execve made: `descriptor` is what the kernel handed over.
int resume_virtual_machine(int descriptor);

}  // namespace elision::vm
