// SPDX-License-Identifier: Apache-2.0
// The file that `elision record` and `elision merge` write and the other verbs of profiles read: JSON, with
// the profile of one run or of several processes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace elision::cli {

inline constexpr const char* kDefaultProfile = "elision.profile";

/// Larger files are refused, and not written.
inline constexpr std::size_t kMostProfileBytes = std::size_t{1} << 30;

/// In place of a machine and of a lock design: in profiles that `elision import` made.
inline constexpr const char* kPerf = "perf";
inline constexpr const char* kUnknownDesign = "unknown";

struct ProfileFile {
  std::vector<std::string> program;  // its words
  std::string where;                 // "native", the name of the virtual machine, or kPerf
  std::string design;                // its name, or kUnknownDesign
  profile::Profile profile;
};

/// "this CPU" or "virtual xeon-gold-5520plus": where the program ran.
std::string place_of(const ProfileFile& file);

/// "./server --threads 4 on this CPU under pthread, 12.3 s", on one line unless the words are of several.
std::string heading_of(const ProfileFile& file);

/// "server" of "./server": the name of the program.
std::string program_of(const ProfileFile& file);

std::string profile_text(const ProfileFile& file);

/// Throws UsageError: "'PATH' WHY".
[[noreturn]] void refuse_file(const std::string& path, const std::string& why);

/// Throws UsageError with one line if the file at `path` cannot be read, is no such file, is damaged, or is
/// of a later version. Never uses more memory than some times the file's size.
ProfileFile read_profile(const std::string& path);

/// The same of the content `text` of the file at `path`.
ProfileFile profile_from_text(std::string_view text, const std::string& path);

}  // namespace elision::cli
