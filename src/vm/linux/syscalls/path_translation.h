// SPDX-License-Identifier: Apache-2.0
// Paths under /proc and /sys that must show the virtual machine instead of the host and the engine.
#pragma once

#include <optional>
#include <string>

#include "vm/linux/process/process.h"

namespace elision::vm {

/// What the guest is told the machine has.
inline constexpr std::uint64_t kMachineMemoryBytes = 64ull << 30;

/// The host path for a guest path: /proc/self/exe becomes the program, /proc/PID of this process
/// /proc/self; any other is returned unchanged.
std::string translate_path(const Process& process, const std::string& path);

/// The contents of a file that the kernel makes up (/proc/cpuinfo, /proc/self/maps, ...), or nothing.
std::optional<std::string> synthetic_file(const Process& process, const std::string& path);

/// True if `path` might be one of these; cheap.
bool may_need_translation(const std::string& path);

}  // namespace elision::vm
