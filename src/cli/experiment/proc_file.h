// SPDX-License-Identifier: Apache-2.0
// Files below /proc, which have no size that could be asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace elision::cli::experiment {

/// The text of /proc/PROCESS/NAME. Empty if it cannot be read.
inline std::string proc_text(std::uint32_t process, const std::string& name) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/" + name);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The memory map of a process. Its first thread may have ended before the others.
inline std::string memory_map_of(std::uint32_t process) {
  std::string map = proc_text(process, "maps");
  std::error_code error;
  const std::filesystem::path folder = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator at(folder, error), end; map.empty() && !error && at != end;
       at.increment(error))
    map = proc_text(process, "task/" + at->path().filename().string() + "/maps");
  return map;
}

}  // namespace elision::cli::experiment
