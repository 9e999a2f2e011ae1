// SPDX-License-Identifier: Apache-2.0
// The call paths of a profile for people. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "cli/host/console.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

/// The call paths with most time at locks, over all threads, at most `most`: what threads do there, and the
/// program's own functions, the innermost first. Shares are of the time of all call paths. Empty: no thread
/// was seen at a lock.
std::string paths_text(const profile::Profile& profile, std::size_t most, const Appearance& appearance);

/// The same as a table in Markdown. Begins with an empty line if it is not empty.
std::string paths_markdown(const profile::Profile& profile, std::size_t most);

}  // namespace elision::cli::experiment
