// SPDX-License-Identifier: Apache-2.0
#include "cli/host/install.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/host/environment.h"
#include "cli/host/program_file.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

// An installation has it in a folder of its own, since nothing is linked with it; a build has all libraries
// in one.
std::string library_here(const char* name, const char* what) {
  const std::filesystem::path prefix = std::filesystem::path(own_binary()).parent_path().parent_path();
  const std::filesystem::path installed = prefix / "lib" / "elision" / name;
  for (const std::filesystem::path& library : {installed, prefix / "lib" / name}) {
    if (!std::filesystem::exists(library)) continue;
    // Both characters separate the libraries in LD_PRELOAD (ld.so(8)).
    if (library.string().find_first_of(" :") != std::string::npos)
      throw UsageError(
          fmt::format("LD_PRELOAD cannot name '{}': install Elision in a folder without spaces and colons",
                      library.string()));
    return library.string();
  }
  throw UsageError(fmt::format("the {} is missing: {} (install Elision again, or build it with 'make build')",
                               what, installed.string()));
}

}  // namespace

std::string own_binary() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::string preload_library() { return library_here("libelision.so", "lock library"); }

std::string tm_library() { return library_here("libelision-tm.so", "transactional memory library"); }

void preload_into(const std::string& file, std::vector<std::string>& environment,
                  const std::string& library) {
  prepend_preload(environment, library);
  if (const std::string sanitizer = address_sanitizer_of(file); !sanitizer.empty())
    prepend_preload(environment, sanitizer);
}

}  // namespace elision::cli
