// SPDX-License-Identifier: Apache-2.0
// What performance events tell about aborts, in words: where cycles were lost, why, and how sure that is.
#pragma once

#include <cstddef>
#include <string>

#include "cli/host/console.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

/// The `most` rows with most cycles, and how far to trust them. Empty if the profile has no such events and
/// none of its transactions aborted.
std::string aborts_text(const profile::Profile& profile, std::size_t most, const Appearance& appearance);
std::string aborts_markdown(const profile::Profile& profile, std::size_t most);

}  // namespace elision::cli::experiment
