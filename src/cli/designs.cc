// SPDX-License-Identifier: Apache-2.0
#include "cli/designs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/suggest.h"

namespace elision::cli {
namespace {

constexpr std::string_view kElidingPrefix = "htm-";
constexpr std::string_view kSpeculatingSuffix = "-aahtm";
constexpr unsigned kMostTries = 1000000;

// N of "htm-N", 0 if the name is not of that form.
unsigned tries_of(std::string_view name) {
  if (name.substr(0, kElidingPrefix.size()) != kElidingPrefix) return 0;
  const std::string_view digits = name.substr(kElidingPrefix.size());
  unsigned tries = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), tries);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && digits.front() != '0' && tries <= kMostTries ? tries : 0;
}

}  // namespace

const std::vector<std::string>& default_designs() {
  static const std::vector<std::string> kDesigns = {"pthread", "tatas",       "ticket",      "htm-1",
                                                    "htm-10",  "tatas-aahtm", "ticket-aahtm"};
  return kDesigns;
}

bool is_design(std::string_view name) {
  const std::vector<std::string>& known = default_designs();
  return std::find(known.begin(), known.end(), name) != known.end() || tries_of(name) > 0;
}

bool elides(std::string_view design) { return tries_of(design) > 0; }

bool speculates(std::string_view design) {
  return design.size() > kSpeculatingSuffix.size() &&
         design.substr(design.size() - kSpeculatingSuffix.size()) == kSpeculatingSuffix;
}

void require_design(std::string_view name) {
  if (!is_design(name)) throw unknown_name("lock design", name, default_designs());
}

std::vector<std::string> parse_designs(std::string_view list) {
  std::vector<std::string> designs;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string name(list.substr(0, comma));
    require_design(name);
    if (std::find(designs.begin(), designs.end(), name) != designs.end()) {
      throw UsageError(fmt::format("lock design '{}' is named twice", name));
    }
    designs.push_back(name);
    if (comma == std::string_view::npos) return designs;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace elision::cli
