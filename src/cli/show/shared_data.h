// SPDX-License-Identifier: Apache-2.0
// What samples of loads and stores tell about data that threads share: in words, as a table, as JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/host/console.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

/// The `most` rows with most samples, and how far to trust them. Empty if accesses were not sampled.
std::string shared_data_text(const profile::Profile& profile, std::size_t most, const Appearance& appearance);
std::string shared_data_markdown(const profile::Profile& profile, std::size_t most);

/// All rows. Null if accesses were not sampled.
nlohmann::json shared_data_json(const profile::Profile& profile);

}  // namespace elision::cli::experiment
