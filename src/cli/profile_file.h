// SPDX-License-Identifier: Apache-2.0
// The file that `elision record` writes and `elision report` reads: JSON, with the profile of one run.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"

namespace elision::cli {

inline constexpr const char* kDefaultProfile = "elision.profile";

struct ProfileFile {
  std::vector<std::string> program;  // its words
  std::string where;                 // "native", or the name of the virtual machine
  std::string design;
  profile::Profile profile;
};

std::string profile_text(const ProfileFile& file);

/// Throws UsageError with one line if `path` cannot be read, is no such file, or is of a later version.
ProfileFile read_profile(const std::string& path);

}  // namespace elision::cli
