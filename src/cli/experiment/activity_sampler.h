// SPDX-License-Identifier: Apache-2.0
// Looks, now and then, at what the threads of a run do at their locks: reads their activity
// (abi/thread_activity.h) from the counter files of the run's processes, from outside. The program is not
// interrupted and runs no more code.
//
// A look comes every kPeriodMs on average, at random distances, so that no period of the program hides from
// it. It reads a slot of the file and the scheduler's state of the thread.
//
// What the samples cannot tell is estimated, and the profile says so: acquisitions without a wait are given
// to the locks that the looks meet between two counts; attempts divide into committed and aborted ones as
// their counts do.
#pragma once

#include <filesystem>
#include <memory>

#include "profile/profile.h"

namespace elision::cli::experiment {

class ActivitySampler {
 public:
  static constexpr double kPeriodMs = 4;
  static constexpr unsigned kMostThreadsALook = 16;  // more take turns

  /// Starts looking at the files in `directory`, which may not be there yet.
  explicit ActivitySampler(const std::filesystem::path& directory);
  ~ActivitySampler();
  ActivitySampler(const ActivitySampler&) = delete;
  ActivitySampler& operator=(const ActivitySampler&) = delete;

  /// Stops looking. The profile of the process with most samples, with names, and with the counts of its
  /// file. `ticks_per_second` of the counters.
  profile::Profile finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace elision::cli::experiment
