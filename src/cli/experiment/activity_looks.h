// SPDX-License-Identifier: Apache-2.0
// Looks at what the threads of a run do at their locks: reads their activity (abi/thread_activity.h) from the
// counter files of the run's processes, from outside. The program is not interrupted and runs no more code.
// Where the library samples call paths, takes these, too (path_reader.h).
//
// A look reads slots of each file and the scheduler's state of their threads. It no longer looks at a file
// when its process has ended or executes another program: a later file of the process replaces it, and so
// does another executable.
//
// What the samples cannot tell is estimated, and the profile says so: acquisitions without a wait are given
// to the locks that the looks meet between two counts; attempts divide into committed and aborted ones as
// their counts do.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/experiment/attached_process.h"
#include "profile/debug_files.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

class ActivityLooks {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kMostThreadsALook = 16;  // more take turns

  /// The files are those in `directory`, which may not be there yet.
  explicit ActivityLooks(std::filesystem::path directory);
  /// At a process that runs already, and only at it. Copies of its counters go to `directory`. `process` must
  /// outlive it.
  ActivityLooks(std::filesystem::path directory, const AttachedProcess& process);
  ~ActivityLooks();
  ActivityLooks(const ActivityLooks&) = delete;
  ActivityLooks& operator=(const ActivityLooks&) = delete;

  /// The look before was `step` ago.
  void look(Clock::time_point now, Clock::duration step);
  /// The files that the next look will read again.
  std::size_t files_in_use() const;

  /// A profile without names, and what names it.
  struct Collected {
    profile::Profile profile;
    std::string memory_map;
    std::uint32_t process = 0;
    std::uint64_t started_ns = 0;
  };
  /// The profile, up to now, of the process with most samples, with the counts of its file.
  Collected collect();
  /// Adds names, which may take seconds. Independent of the looks: another thread may do it.
  static profile::Profile named(Collected collected, profile::DebugFiles debug_files);
  profile::Profile profile() { return named(collect(), profile::DebugFiles::kServersToo); }

 private:
  struct Process;
  void find_files();
  void retire_replaced();

  std::filesystem::path directory_;
  std::map<std::filesystem::path, std::unique_ptr<Process>> processes_;
};

}  // namespace elision::cli::experiment
