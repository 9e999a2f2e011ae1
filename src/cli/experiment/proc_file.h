// SPDX-License-Identifier: Apache-2.0
// Files below /proc, which have no size that could be asked for.
#pragma once

#include <cstdint>
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

}  // namespace elision::cli::experiment
