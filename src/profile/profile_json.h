// SPDX-License-Identifier: Apache-2.0
// A profile as JSON, written by the virtual machine and read by the command line.
#pragma once

#include <nlohmann/json.hpp>

#include "profile/profile.h"

namespace elision::profile {

nlohmann::ordered_json profile_json(const Profile& profile);

/// Throws nlohmann::json::exception or std::invalid_argument if `json` was not written by profile_json().
Profile profile_from_json(const nlohmann::json& json);

}  // namespace elision::profile
