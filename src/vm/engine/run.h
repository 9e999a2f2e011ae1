// SPDX-License-Identifier: Apache-2.0
// Starts the virtual machine. Called by the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vm/interface/options.h"

namespace elision::vm {

/// The file in Options::stats_directory that says why a guest process could not be started, in one line. The
/// exit code alone could be the guest's.
inline constexpr const char* kNotStartedFile = "not-started";

/// The one that says why a process is no copy of a snapshot.
inline constexpr const char* kNoCopyFile = "not-from-snapshot";

/// Writes such a file if `options` name an existing directory.
void leave_note(const Options& options, const char* file, const std::string& why);

/// Runs `program`, the path of a file, with `argv` and `environment` on the machine of `options`. The process
/// ends with the guest's exit status or signal. Returns only if the guest could not be started: prints one
/// line to stderr, writes kNotStartedFile and returns 2.
int run_virtual_machine(const Options& options, const std::string& program,
                        const std::vector<std::string>& argv, char** environment);

/// Does the same in a copy of the snapshot that another process serves at `path` (Options::serves). Returns
/// the copy's wait status. Returns nothing if there is no copy; `why` then says the reason.
std::optional<int> run_from_snapshot(const std::string& path, const Options& options,
                                     const std::string& program, const std::vector<std::string>& argv,
                                     char** environment, std::string& why);

/// Continues after a guest's execve. `descriptor` holds what the process passed on (read_hand_over).
int resume_virtual_machine(int descriptor);

}  // namespace elision::vm
