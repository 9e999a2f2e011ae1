// SPDX-License-Identifier: Apache-2.0
// The error for an unknown name, with valid ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/host/usage_error.h"

namespace elision::cli {

/// An error that says `kind` `given` is unknown and names the nearest of `valid`, or all of them
/// if none is near.
UsageError unknown_name(std::string_view kind, std::string_view given, const std::vector<std::string>& valid);

}  // namespace elision::cli
