// SPDX-License-Identifier: Apache-2.0
// What the kernel and a process itself tell about the process, in files. Those below /proc have no size that
// could be asked for.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

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

/// The names that a process gives code that it makes as it runs, as perf_events' users take them. The file
/// counts if it is the user's or the superuser's, since anybody can write to the folder.
inline std::string perf_map_of(std::uint32_t process) {
  const std::string path = "/tmp/perf-" + std::to_string(process) + ".map";
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) ||
      (found.st_uid != geteuid() && found.st_uid != 0))
    return "";
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace elision::cli::experiment
