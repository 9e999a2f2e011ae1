// SPDX-License-Identifier: Apache-2.0
// A root folder with the files that a test writes into it.
#pragma once

#include <fstream>
#include <string>

#include "cli/host/temp_directory.h"

namespace elision::cli::doctor {

class FileTree {
 public:
  FileTree& file(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root() / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
    return *this;
  }
  const std::filesystem::path& root() const { return directory_.path(); }

 private:
  TempDirectory directory_;
};

}  // namespace elision::cli::doctor
