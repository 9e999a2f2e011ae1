// SPDX-License-Identifier: Apache-2.0
#include "cli/host/text_layout.h"

#include <algorithm>
#include <clocale>
#include <cwchar>

#include "cli/host/parse.h"

namespace elision::cli {
namespace {

constexpr std::size_t kNarrowest = 8;  // room for words behind a deep indentation
constexpr std::string_view kMissing = "..";

/// This thread knows the widths of Unicode's characters, whatever locale the process has.
class UnicodeWidths {
 public:
  UnicodeWidths() : before_(locale() == nullptr ? nullptr : uselocale(locale())) {}
  ~UnicodeWidths() {
    if (before_ != nullptr) uselocale(before_);
  }
  UnicodeWidths(const UnicodeWidths&) = delete;
  UnicodeWidths& operator=(const UnicodeWidths&) = delete;

 private:
  static locale_t locale() {
    static const locale_t kUnicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return kUnicode;
  }
  locale_t before_;
};

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

// The first character of `text`, which is not empty. What is not a character counts as one column a byte.
Character first_character(std::string_view text) {
  wchar_t character = 0;
  std::mbstate_t state{};
  const std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {};
  return {bytes, static_cast<std::size_t>(std::max(0, wcwidth(character)))};
}

// The longest part of `text` that takes at most `width` columns.
std::string_view front_of(std::string_view text, std::size_t width) {
  const UnicodeWidths widths;
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character next = first_character(text.substr(bytes));
    if (next.columns > width) break;
    width -= next.columns;
    bytes += next.bytes;
  }
  return text.substr(0, bytes);
}

std::string_view back_of(std::string_view text, std::size_t width) {
  std::size_t surplus = display_width(text);
  surplus = surplus > width ? surplus - width : 0;
  const UnicodeWidths widths;
  while (surplus > 0) {
    const Character next = first_character(text);
    surplus -= std::min(surplus, next.columns);
    text.remove_prefix(next.bytes);
  }
  return text;
}

void wrap_line(std::string_view text, std::size_t width, std::vector<std::string>& lines) {
  std::string line;
  for (const std::string& word : split_list(text, ' ')) {
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  lines.push_back(std::move(line));
}

}  // namespace

std::size_t display_width(std::string_view text) {
  const UnicodeWidths widths;
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character next = first_character(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string padded_right(std::string_view text, std::size_t width) {
  const std::size_t own = display_width(text);
  return std::string(text) + std::string(width > own ? width - own : 0, ' ');
}

std::string padded_left(std::string_view text, std::size_t width) {
  const std::size_t own = display_width(text);
  return std::string(width > own ? width - own : 0, ' ') + std::string(text);
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  const std::size_t kept = width - kMissing.size();
  std::string result(front_of(text, (kept + 1) / 2));
  return result.append(kMissing).append(back_of(text, kept / 2));
}

std::vector<std::string> wrapped(std::string_view text, std::optional<std::size_t> width) {
  std::vector<std::string> lines;
  for (const std::string& line : split_list(text, '\n')) {
    if (width) {
      wrap_line(line, *width, lines);
    } else {
      lines.push_back(line);
    }
  }
  return lines;
}

std::string paragraph(std::string_view first, std::string_view text, std::optional<std::size_t> width) {
  const std::size_t indent = display_width(first);
  if (width) width = std::max(*width, indent + kNarrowest) - indent;
  std::string result;
  for (const std::string& line : wrapped(text, width)) {
    result += result.empty() ? std::string(first) : std::string(indent, ' ');
    result += line + "\n";
  }
  return result;
}

}  // namespace elision::cli
