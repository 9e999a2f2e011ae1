// SPDX-License-Identifier: Apache-2.0
#include "cli/options/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"

namespace elision::cli {

UsageError unknown_name(std::string_view kind, std::string_view given,
                        const std::vector<std::string>& valid) {
  const std::string near = near_name(given, valid);
  return UsageError(near.empty()
                        ? fmt::format("unknown {} '{}'; known are {}", kind, given, fmt::join(valid, ", "))
                        : fmt::format("unknown {} '{}'; the nearest is '{}'", kind, given, near));
}

}  // namespace elision::cli
