// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/metric.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/host/usage_error.h"

namespace elision::cli::experiment {
namespace {

constexpr std::size_t kShownCharacters = 40;
constexpr std::string_view kPerLine = "(?m)";  // "^" and "$" match at every line

struct Construct {
  std::string_view text;
  const char* name;
};

// Constructs that RE2 lacks, because they need backtracking.
constexpr Construct kUnsupported[] = {
    {"(?=", "look-ahead"},       {"(?!", "look-ahead"},        {"(?<=", "look-behind"},
    {"(?<!", "look-behind"},     {"(?>", "an atomic group"},   {"(?(", "a conditional group"},
    {"\\k", "a back reference"}, {"(?P=", "a back reference"}, {"\\g", "a back reference"}};

bool is_back_reference(std::string_view rest) {
  return rest.size() > 1 && rest[0] == '\\' && rest[1] >= '1' && rest[1] <= '9';
}

// The unsupported construct at the start of `rest`, if any.
std::optional<Construct> unsupported_at(std::string_view rest) {
  if (is_back_reference(rest)) return Construct{rest.substr(0, 2), "a back reference"};
  const auto* const found = std::find_if(std::begin(kUnsupported), std::end(kUnsupported),
                                         [&](const Construct& c) { return rest.starts_with(c.text); });
  return found == std::end(kUnsupported) ? std::nullopt : std::optional(*found);
}

std::optional<Construct> unsupported_in(std::string_view expression) {
  bool in_class = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const std::string_view rest = expression.substr(i);
    if (!in_class) {
      if (const auto found = unsupported_at(rest)) return found;
    }
    if (rest.front() == '\\') {
      ++i;
    } else if (rest.front() == '[') {
      in_class = true;
    } else if (rest.front() == ']') {
      in_class = false;
    }
  }
  return std::nullopt;
}

std::shared_ptr<const re2::RE2> compiled(const std::string& expression) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // a program may print any bytes
  auto regex = std::make_shared<const re2::RE2>(std::string(kPerLine) + expression, options);
  if (regex->ok()) return regex;
  if (const auto construct = unsupported_in(expression)) {
    throw UsageError(fmt::format("--metric '{}': {} ('{}') is not supported (regular expressions are RE2's)",
                                 expression, construct->name, construct->text));
  }
  std::string reason = regex->error();
  if (const std::size_t ours = reason.find(kPerLine); ours != std::string::npos)
    reason.erase(ours, kPerLine.size());
  throw UsageError(fmt::format("--metric '{}' is not a regular expression: {}", expression, reason));
}

// Text after the number is ignored: "1,234.5 ms" is 1234.5.
std::optional<double> number_in(std::string_view text) {
  std::string digits(text);
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  return end != digits.c_str() && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

Metric::Metric(const std::string& expression) : expression_(expression), regex_(compiled(expression)) {}

void Metric::for_each_match(std::string_view text, const std::function<void(std::string_view)>& found) const {
  const re2::StringPiece whole(text.data(), text.size());
  const int group = regex_->NumberOfCapturingGroups() > 0 ? 1 : 0;
  re2::StringPiece parts[2];
  std::size_t at = 0;
  while (at <= text.size() && regex_->Match(whole, at, text.size(), re2::RE2::UNANCHORED, parts, group + 1)) {
    const re2::StringPiece& part = parts[group];
    if (part.data() != nullptr) found(std::string_view(part.data(), part.size()));
    const auto end = static_cast<std::size_t>(parts[0].data() - text.data()) + parts[0].size();
    at = parts[0].empty() ? end + 1 : end;
  }
}

std::optional<double> Metric::read(const std::string& text) const {
  std::optional<double> last;
  for_each_match(text, [&last](std::string_view part) {
    if (const auto number = number_in(part)) last = number;
  });
  return last;
}

std::optional<double> Metric::read(const Sample& sample) const {
  const std::optional<double> found = read(sample.output);
  return found ? found : read(sample.error_output);
}

std::string Metric::complaint(const Sample& sample, const std::string& program) const {
  std::optional<std::string> last;
  for (const std::string* text : {&sample.error_output, &sample.output})
    for_each_match(*text, [&last](std::string_view part) { last = part; });
  if (!last) return fmt::format("--metric '{}' matches nothing that {} printed", expression_, program);
  if (last->size() > kShownCharacters) last = last->substr(0, kShownCharacters) + "...";
  if (regex_->NumberOfCapturingGroups() > 0)
    return fmt::format("the group of --metric '{}' matches '{}', which is no number", expression_, *last);
  return fmt::format(
      "--metric '{}' has no group and matches '{}', which is no number; put the number into a group, as in "
      "'time: ([0-9.]+)'",
      expression_, *last);
}

std::string Metric::without(const std::string& text) const {
  std::string result;
  std::size_t copied = 0;
  for_each_match(text, [&](std::string_view part) {
    const auto begin = static_cast<std::size_t>(part.data() - text.data());
    if (begin < copied) return;
    result.append(text, copied, begin - copied).append("#");
    copied = begin + part.size();
  });
  return result.append(text, copied);
}

}  // namespace elision::cli::experiment
