// SPDX-License-Identifier: Apache-2.0
// Reads a process's samples of call paths (abi/call_paths.h) while it runs, and follows their calls.
//
// The process's memory map tells which files its code comes from. It is read again when a call lies outside
// of the files known so far.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "profile/profile.h"

namespace elision::cli::experiment {

class PathReader {
 public:
  /// The file may not be there, now or ever.
  explicit PathReader(const std::filesystem::path& file);
  ~PathReader();
  PathReader(const PathReader&) = delete;
  PathReader& operator=(const PathReader&) = delete;

  /// Takes the samples that are complete. Names the threads that are new.
  void take();
  /// The process has ended or executes another program: takes what is left and removes the file.
  void finish();
  /// The memory map by which calls were followed; empty before the first sample.
  const std::string& memory_map() const;
  /// Adds the paths to a profile that has none (profile::CallPaths::add_to).
  void add_to(profile::Profile& profile, double ticks_per_second) const;

 private:
  std::string missing() const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace elision::cli::experiment
