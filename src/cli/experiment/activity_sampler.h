// SPDX-License-Identifier: Apache-2.0
// Looks at a run's threads (activity_looks.h) while it goes on, from a thread of its own.
//
// Looks come at random distances, so that no period of the program hides from them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "cli/experiment/attached_process.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

class ActivitySampler {
 public:
  /// Takes what has been seen so far. Called from a thread of its own, and not after finish() has begun.
  using Save = std::function<void(profile::Profile)>;

  /// Starts looking at the files in `directory`, which may not be there yet. `distance_ms`: between two
  /// looks, on average. `save`, if not empty, is called after a second, and then every five or more: at most
  /// 2 % of the time goes into it.
  ActivitySampler(const std::filesystem::path& directory, double distance_ms, Save save = {});
  /// The same at a process that runs already, which must outlive it.
  ActivitySampler(const std::filesystem::path& directory, const AttachedProcess& process, double distance_ms,
                  Save save = {});
  ~ActivitySampler();
  ActivitySampler(const ActivitySampler&) = delete;
  ActivitySampler& operator=(const ActivitySampler&) = delete;

  /// Stops looking.
  profile::Profile finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace elision::cli::experiment
