// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/output_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace elision::cli::experiment {
namespace {

constexpr std::size_t kShownCharacters = 40;

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_hex_digit(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// A number at the start of `rest`: its length, and whether it is a measurement or an address.
struct Number {
  std::size_t length = 0;
  bool volatile_kind = false;
};

Number number_at(std::string_view rest) {
  if (rest.substr(0, 2) == "0x" || rest.substr(0, 2) == "0X") {
    const auto end = std::find_if_not(rest.begin() + 2, rest.end(), is_hex_digit);
    return {static_cast<std::size_t>(end - rest.begin()), true};
  }
  Number number;
  while (number.length < rest.size()) {
    const char c = rest[number.length];
    const bool digit_follows = number.length + 1 < rest.size() && is_digit(rest[number.length + 1]);
    if (!is_digit(c) && !((c == '.' || c == ',') && digit_follows)) break;
    number.volatile_kind |= c == '.';
    ++number.length;
  }
  return number;
}

// The line with numbers (all, or only measurements and addresses) replaced by "#". Spaces before a replaced
// number are removed too, since the width of a number shifts right-aligned columns.
std::string masked(std::string_view line, bool all_numbers) {
  std::string result;
  for (std::size_t i = 0; i < line.size();) {
    const Number number = is_digit(line[i]) ? number_at(line.substr(i)) : Number{};
    if (number.length == 0) {
      result.push_back(line[i++]);
      continue;
    }
    if (all_numbers || number.volatile_kind) {
      while (!result.empty() && result.back() == ' ') result.pop_back();
      result.push_back('#');
    } else {
      result.append(line.substr(i, number.length));
    }
    i += number.length;
  }
  return result;
}

/// The part of `line` from `begin` on that has room in a message.
std::string shown(const std::string& line, std::size_t begin) {
  const std::string part = line.substr(std::min(begin, line.size()), kShownCharacters);
  return (begin > 0 ? "..." : "") + part + (begin + part.size() < line.size() ? "..." : "");
}

/// Where two lines begin to be shown, so that their first difference has room.
std::size_t shown_from(const std::string& a, const std::string& b) {
  constexpr std::size_t kBefore = 10;
  const auto differs =
      static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  return differs < kShownCharacters - kBefore ? 0 : differs - kBefore;
}

}  // namespace

OutputFilter::OutputFilter(const std::vector<std::string>& references, bool measures_itself) {
  const bool masks_numbers = measures_itself || references.size() == 1;
  for (const std::string& text : split_lines(references.front())) {
    lines_.push_back({text, masks_numbers ? Rule::kNumbersMayDiffer : Rule::kMeasurementsMayDiffer});
  }
  for (const std::string& reference : references) {
    const std::vector<std::string> lines = split_lines(reference);
    if (lines.size() != lines_.size()) {
      comparable_ = false;
      return;
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      Line& known = lines_[i];
      if (masked(lines[i], false) == masked(known.text, false)) continue;
      const bool numbers_only = masked(lines[i], true) == masked(known.text, true);
      known.rule = std::max(known.rule, numbers_only ? Rule::kNumbersMayDiffer : Rule::kAnything);
    }
  }
}

std::optional<std::string> OutputFilter::difference(const std::string& output) const {
  if (!comparable_) return std::nullopt;
  const std::vector<std::string> lines = split_lines(output);
  if (lines.size() != lines_.size())
    return fmt::format("{} lines instead of {}", lines.size(), lines_.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines_[i].rule == Rule::kAnything) continue;
    const bool all_numbers = lines_[i].rule == Rule::kNumbersMayDiffer;
    if (masked(lines[i], all_numbers) != masked(lines_[i].text, all_numbers)) {
      const std::size_t from = shown_from(lines[i], lines_[i].text);
      return fmt::format("line {} is '{}' instead of '{}'", i + 1, shown(lines[i], from),
                         shown(lines_[i].text, from));
    }
  }
  return std::nullopt;
}

}  // namespace elision::cli::experiment
