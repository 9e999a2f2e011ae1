// SPDX-License-Identifier: Apache-2.0
// Names on a command line: lists of them, and the error for an unknown one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/host/usage_error.h"

namespace elision::cli {

/// An error that says `kind` `given` is unknown and names the nearest of `valid`, or all of them
/// if none is near.
UsageError unknown_name(std::string_view kind, std::string_view given, const std::vector<std::string>& valid);

/// The names in "a,b,c". `require` throws for an unknown one. Throws UsageError for a missing or repeated
/// one, of which `kind` says what it is.
std::vector<std::string> parse_names(std::string_view list, std::string_view kind,
                                     void (*require)(std::string_view));

}  // namespace elision::cli
