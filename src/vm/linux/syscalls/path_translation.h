// SPDX-License-Identifier: Apache-2.0
// Paths under /proc and /sys that show the virtual machine instead of the host and the engine, and names
// under /dev/shm that hold the guest's process number.
#pragma once

#include <optional>
#include <string>

#include "vm/linux/process/process.h"

namespace elision::vm {

/// The machine's memory, as shown to the guest.
inline constexpr std::uint64_t kMachineMemoryBytes = 64ull << 30;

/// What becomes of a link at the end of a path: a call follows it, or looks at the link itself.
enum class Links { kFollow, kStay };

/// The host's path for a guest's path: the program for /proc/PID/exe unless the link stays, and the host's
/// number of a process for the guest's (proc_files.h). In a name under /dev/shm, the host's number of the
/// first process stands for its guest number: all virtual machines have the same one, and LLVM's OpenMP takes
/// an existing file with its number for a second copy of itself. Others are unchanged.
std::string translate_path(const Process& process, const std::string& path, Links links = Links::kFollow);

/// The contents of a synthetic file (/proc/cpuinfo, /proc/self/maps, ...), or nothing.
std::optional<std::string> synthetic_file(const Process& process, const std::string& path);

/// True if `path` might be one of these; cheap.
bool may_need_translation(const std::string& path);

}  // namespace elision::vm
