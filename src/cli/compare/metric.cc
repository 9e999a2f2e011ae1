// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/usage_error.h"

namespace elision::cli::compare {
namespace {

std::regex compiled(const std::string& expression) {
  try {
    return std::regex(expression, std::regex::ECMAScript | std::regex::multiline);
  } catch (const std::regex_error&) {
    throw UsageError(fmt::format("--metric '{}' is not a regular expression", expression));
  }
}

}  // namespace

Metric::Metric(const std::string& expression) : regex_(compiled(expression)) {}

std::optional<double> Metric::read(const std::string& text) const {
  std::optional<double> last;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), regex_); match != std::sregex_iterator();
       ++match) {
    std::string digits = (*match)[group()].str();
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());  // 1,234,567
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (end != digits.c_str()) last = value;
  }
  return last;
}

std::optional<double> Metric::read(const Sample& sample) const {
  const std::optional<double> found = read(sample.output);
  return found ? found : read(sample.error_output);
}

std::string Metric::without(const std::string& text) const {
  std::string result;
  std::size_t copied = 0;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), regex_); match != std::sregex_iterator();
       ++match) {
    const auto begin = static_cast<std::size_t>(match->position(group()));
    if (begin < copied) continue;
    result.append(text, copied, begin - copied).append("#");
    copied = begin + static_cast<std::size_t>(match->length(group()));
  }
  return result.append(text, copied);
}

}  // namespace elision::cli::compare
