// SPDX-License-Identifier: Apache-2.0
// Finds the name that the user probably meant. Hosted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace elision {

/// The number of single-character insertions, deletions and replacements that turn `a` into `b`
/// (Levenshtein distance).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate with the smallest edit distance to `name`, the first of several; empty if there are
/// no candidates.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// The same if `name` may be a typing error for it, by two edits or, if that is more, a third of its letters,
/// and not by all of them. Else empty.
std::string near_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace elision
