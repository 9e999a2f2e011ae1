// SPDX-License-Identifier: Apache-2.0
// Looks at a run's threads (activity_looks.h) while it goes on, from a thread of its own.
//
// A look comes every kPeriodMs on average, at random distances, so that no period of the program hides from
// it.
#pragma once

#include <filesystem>
#include <memory>

#include "profile/profile.h"

namespace elision::cli::experiment {

class ActivitySampler {
 public:
  static constexpr double kPeriodMs = 4;

  /// Starts looking at the files in `directory`, which may not be there yet.
  explicit ActivitySampler(const std::filesystem::path& directory);
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
