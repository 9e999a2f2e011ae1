// SPDX-License-Identifier: Apache-2.0
// A private directory that disappears with the object, or with the process if that is killed: a helper
// process (lifeline.h) waits for that.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace elision::cli {

class TempDirectory {
 public:
  /// Makes a directory in $TMPDIR or /tmp that only this user can enter; throws UsageError if it cannot.
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  pid_t helper_ = -1;  // removes the directory if we cannot; -1: not started
};

}  // namespace elision::cli
