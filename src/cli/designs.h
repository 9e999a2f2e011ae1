// SPDX-License-Identifier: Apache-2.0
// The lock designs by the names that users type, and what the command line must know of each. The
// algorithms are in src/locks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace elision::cli {

/// The designs that `elision compare` and `make demo` take by default.
const std::vector<std::string>& default_designs();

/// The forms of a design's name, for people.
inline constexpr const char* kDesignForms = "pthread, tatas, ticket, htm-N, tatas-aahtm or ticket-aahtm";

/// True if `name` is a design: one of the default names, or htm-N with N from 1 to 1,000,000.
bool is_design(std::string_view name);

/// True if the design begins transactions that are meant to commit (htm-N).
bool elides(std::string_view design);

/// True if the design waits by always-abort speculation.
bool speculates(std::string_view design);

/// Throws UsageError with the nearest name unless `name` is a design.
void require_design(std::string_view name);

/// Splits "a,b,c" and checks every name; throws UsageError, also for an empty or repeated name.
std::vector<std::string> parse_designs(std::string_view list);

}  // namespace elision::cli
