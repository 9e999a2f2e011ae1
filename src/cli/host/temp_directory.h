// SPDX-License-Identifier: Apache-2.0
// A private directory that is removed with the object. If the process is killed, a helper process
// (lifeline.h) removes it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace elision::cli {

class TempDirectory {
 public:
  /// Makes a directory in $TMPDIR or /tmp that only this user can enter. Throws UsageError on failure.
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  pid_t helper_ = -1;  // removes the directory if we are killed; -1: not started
};

}  // namespace elision::cli
