// SPDX-License-Identifier: Apache-2.0
// What performance events tell about aborts, as JSON (docs/guide/record.md).
#pragma once

#include <nlohmann/json.hpp>

#include "profile/profile.h"

namespace elision::cli {

/// Null if the profile says nothing about events.
nlohmann::json abort_events_json(const profile::Profile& profile);

}  // namespace elision::cli
