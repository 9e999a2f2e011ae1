// SPDX-License-Identifier: Apache-2.0
// /sys/bus/event_source, where profilers look up which events there are and how perf_event_open names them.
// Nothing of the host's is in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vm/linux/process/process.h"

namespace elision::vm {

/// True for paths of the folder that events are described in, whether they exist or not.
bool is_event_source(const std::string& path);

/// The contents of a file there.
std::optional<std::string> event_source_file(const Process& process, const std::string& path);
/// The names in a folder there.
std::optional<std::vector<std::string>> event_source_folder(const Process& process, const std::string& path);

/// Opens the folder: an empty one of the host that no path names any more, but whose former name tells which
/// it stands for, over dup, fork and execve. Returns a descriptor or a negative errno.
long open_event_source_folder(const std::string& path, int flags);
/// The folder for which `link`, what /proc/self/fd says of a descriptor, stands; or nothing.
std::optional<std::string> event_source_folder_of(const std::string& link);

}  // namespace elision::vm
