// SPDX-License-Identifier: Apache-2.0
// A private directory that disappears with the object. Whoever catches a signal must let the object
// be destroyed; nothing else removes it.
#pragma once

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
};

}  // namespace elision::cli
