// SPDX-License-Identifier: Apache-2.0
#include "cli/options/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.h"

namespace elision::cli {

UsageError unknown_name(std::string_view kind, std::string_view given,
                        const std::vector<std::string>& valid) {
  const std::string nearest = nearest_name(given, valid);
  const bool near = edit_distance(given, nearest) <= std::max<std::size_t>(2, given.size() / 2);
  return UsageError(near ? fmt::format("unknown {} '{}'; the nearest is '{}'", kind, given, nearest)
                         : fmt::format("unknown {} '{}'; known are {}", kind, given, fmt::join(valid, ", ")));
}

}  // namespace elision::cli
