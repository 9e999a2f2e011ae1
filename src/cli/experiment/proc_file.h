// SPDX-License-Identifier: Apache-2.0
// What the kernel and a process itself tell about the process, in files. Those below /proc have no size that
// could be asked for.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace elision::cli::experiment {

/// The text of /proc/PROCESS/NAME. Empty if it cannot be read.
inline std::string proc_text(std::uint32_t process, const std::string& name) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/" + name);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The threads of a process, the first one first. Empty if there is no such process.
inline std::vector<std::uint32_t> threads_of(std::uint32_t process) {
  std::vector<std::uint32_t> threads;
  std::error_code error;
  const std::filesystem::path folder = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    threads.push_back(static_cast<std::uint32_t>(std::atoi(at->path().filename().c_str())));
  return threads;
}

/// The memory map of a process. Its first thread may have ended before the others.
inline std::string memory_map_of(std::uint32_t process) {
  std::string map = proc_text(process, "maps");
  if (!map.empty()) return map;
  for (const std::uint32_t thread : threads_of(process)) {
    map = proc_text(process, "task/" + std::to_string(thread) + "/maps");
    if (!map.empty()) break;
  }
  return map;
}

/// The names that a process gives code that it makes as it runs, as perf_events' users take them.
/// `started_ns`: when it started, by CLOCK_MONOTONIC. The file counts if it is the user's or the superuser's,
/// since anybody can write to the folder, and if it is not of an earlier process with the same number. A last
/// line without an end is still being written, and left out.
inline std::string perf_map_of(std::uint32_t process, std::uint64_t started_ns) {
  constexpr off_t kMostBytes = 256 << 20;
  const std::string path = "/tmp/perf-" + std::to_string(process) + ".map";
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return "";
  const auto ns_of = [](const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; };
  timespec now{}, since_boot{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_MONOTONIC, &since_boot);
  constexpr long long kGranularity = 1'000'000'000;  // of a file's times, at the worst
  const long long started =
      ns_of(now) - ns_of(since_boot) + static_cast<long long>(started_ns) - kGranularity;
  struct stat found {};
  std::string text;
  if (fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_size <= kMostBytes &&
      (found.st_uid == geteuid() || found.st_uid == 0) && ns_of(found.st_mtim) >= started) {
    text.resize(static_cast<std::size_t>(found.st_size));
    const ssize_t got = pread(file, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    text.resize(text.rfind('\n') + 1);  // none: nothing
  }
  close(file);
  return text;
}

}  // namespace elision::cli::experiment
