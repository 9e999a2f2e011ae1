// SPDX-License-Identifier: Apache-2.0
// The files below /proc/PID of guest processes: of this one, and of others of the same run, which have
// published themselves (process/shown_process.h). What is not shown here is the host's.
#pragma once

#include <optional>
#include <string>

#include "vm/linux/process/process.h"

namespace elision::vm {

/// A path below /proc that names a process.
struct ProcPath {
  bool is_own = false;    // of this process
  bool is_link = false;   // /proc/self or /proc/thread-self itself
  int host_pid = 0;       // the process's number on the host
  int tid = 0;            // the thread that the path names; 0: none, or one that does not exist
  std::string rest = {};  // behind the process and, if it exists, the thread: empty, or begins with '/'
};

/// Splits `path`. Returns nothing if it names no process.
std::optional<ProcPath> proc_path(const Process& process, const std::string& path);

/// Returns the path of the same file on the host. The host has one thread for each process, whose files stand
/// for those of all guest threads.
std::string on_host(const ProcPath& path);

/// Returns what the guest reads from the file. Returns nothing if that is what the host has, or if the host
/// does not let this process read it.
std::optional<std::string> process_file(const Process& process, const ProcPath& path);

/// Returns the program of a guest process for /proc/PID/exe, or nothing for any other path.
std::optional<std::string> executable_of(const Process& process, const ProcPath& path);

}  // namespace elision::vm
