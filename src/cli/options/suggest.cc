// SPDX-License-Identifier: Apache-2.0
#include "cli/options/suggest.h"

#include <fmt/format.h>

#include "base/nearest.h"

namespace elision::cli {

UsageError unknown_name(std::string_view kind, std::string_view given,
                        const std::vector<std::string>& valid) {
  return UsageError(
      fmt::format("unknown {} '{}'; the nearest is '{}'", kind, given, nearest_name(given, valid)));
}

}  // namespace elision::cli
