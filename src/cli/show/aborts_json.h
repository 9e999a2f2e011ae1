// SPDX-License-Identifier: Apache-2.0
// What performance events tell about aborts, as JSON (docs/guide/record.md).
#pragma once

#include <nlohmann/json.hpp>

#include "profile/profile.h"

namespace elision::cli {

/// "name", and "file" and "line" as far as they are known.
nlohmann::json place_json(const profile::Place& place);

/// Null if the profile says nothing about events.
nlohmann::json abort_events_json(const profile::Profile& profile);

}  // namespace elision::cli
