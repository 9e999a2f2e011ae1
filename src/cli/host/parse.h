// SPDX-License-Identifier: Apache-2.0
// Numbers and lists on a command line. Pure.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elision::cli {

/// Parses all of `text` as a decimal number. Empty if it is not a number or does not fit.
template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// `text` without spaces and tabs at its ends.
inline std::string without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos
             ? ""
             : std::string(text.substr(first, text.find_last_not_of(kBlanks) - first + 1));
}

/// The parts of `list` between separators, including empty ones; at least one.
inline std::vector<std::string> split_list(std::string_view list, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = list.find(separator);
    parts.emplace_back(list.substr(0, end));
    if (end == std::string_view::npos) return parts;
    list.remove_prefix(end + 1);
  }
}

}  // namespace elision::cli
