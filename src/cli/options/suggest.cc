// SPDX-License-Identifier: Apache-2.0
#include "cli/options/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.h"
#include "cli/host/parse.h"

namespace elision::cli {

UsageError unknown_name(std::string_view kind, std::string_view given,
                        const std::vector<std::string>& valid) {
  const std::string near = near_name(given, valid);
  return UsageError(near.empty()
                        ? fmt::format("unknown {} '{}'; known are {}", kind, given, fmt::join(valid, ", "))
                        : fmt::format("unknown {} '{}'; the nearest is '{}'", kind, given, near));
}

std::vector<std::string> parse_names(std::string_view list, std::string_view kind,
                                     void (*require)(std::string_view)) {
  std::vector<std::string> names;
  for (const std::string& word : split_list(list, ',')) {
    const std::string name = without_blanks(word);
    if (name.empty()) throw UsageError(fmt::format("a {} is missing in '{}'", kind, list));
    require(name);
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw UsageError(fmt::format("{} '{}' is named twice", kind, name));
    names.push_back(name);
  }
  return names;
}

}  // namespace elision::cli
