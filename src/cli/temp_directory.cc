// SPDX-License-Identifier: Apache-2.0
#include "cli/temp_directory.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/usage_error.h"

namespace elision::cli {

TempDirectory::TempDirectory() {
  std::error_code error;
  std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string name = (parent / "elision.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw UsageError(
        fmt::format("cannot make a temporary directory in '{}': {}", parent.string(), std::strerror(errno)));
  }
  path_ = name;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace elision::cli
