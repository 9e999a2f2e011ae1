// SPDX-License-Identifier: Apache-2.0
#include "cli/host/install.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/host/environment.h"
#include "cli/host/program_file.h"
#include "cli/host/usage_error.h"

namespace elision::cli {

std::string own_binary() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::string preload_library() {
  const std::filesystem::path prefix = std::filesystem::path(own_binary()).parent_path().parent_path();
  const std::filesystem::path library = prefix / "lib" / "libelision.so";
  if (!std::filesystem::exists(library)) {
    throw UsageError(
        fmt::format("the lock library is missing: {} (build it with 'make build')", library.string()));
  }
  return library.string();
}

void preload_into(const std::string& file, std::vector<std::string>& environment) {
  prepend_preload(environment, preload_library());
  if (const std::string sanitizer = address_sanitizer_of(file); !sanitizer.empty())
    prepend_preload(environment, sanitizer);
}

}  // namespace elision::cli
