// SPDX-License-Identifier: Apache-2.0
// A profile as JSON, written by the virtual machine and by the command line, which reads it. Files come from
// anywhere: what is read is checked, so that no code behind this needs to.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "profile/profile.h"

namespace elision::profile {

/// No time in nanoseconds and no count of a profile is larger: it fits 64 bits, and a sum of many is exact
/// enough.
inline constexpr double kMostNumber = 1e18;

nlohmann::ordered_json profile_json(const Profile& profile);

/// Whether all numbers are ones that can be read again. Those of a sum of profiles may be too large.
bool is_within_bounds(const Profile& profile);

/// The parts of profile_json(), since a profile may have a million call paths: all but the lists of locks,
/// threads, frames and call paths, and each list by its name, size and entries.
nlohmann::ordered_json profile_json_without_lists(const Profile& profile);
using EntryJson = std::function<nlohmann::ordered_json(std::size_t entry)>;
using ListVisitor = std::function<void(const char* name, std::size_t size, const EntryJson& entry)>;
void visit_entries(const Profile& profile, const ListVisitor& visit);

/// Reads a profile by its parts. Each function throws std::invalid_argument, with a part of a sentence, if
/// `json` was not written by profile_json().
class ProfileReader {
 public:
  static bool is_list(std::string_view name);
  void add(std::string_view list, const nlohmann::json& entry);
  /// `rest`: the profile, in which the lists may be empty. All entries have been added. Called last.
  Profile finish(const nlohmann::json& rest);

 private:
  Profile profile_;
};

/// Throws std::invalid_argument as ProfileReader does.
Profile profile_from_json(const nlohmann::json& json);

}  // namespace elision::profile
