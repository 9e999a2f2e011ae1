// SPDX-License-Identifier: Apache-2.0
// Call paths as speedscope (speedscope.app) takes them: its own file format. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "profile/export_labels.h"

namespace elision::profile {

/// A sampled profile of all paths and one of each state or cause that occurs, by weight.
nlohmann::ordered_json speedscope_json(const PathTable& table, const Origin& origin);

}  // namespace elision::profile
