// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <cstdint>

namespace elision {
namespace {

constexpr unsigned char kFirstContinuation = 0x80, kLastContinuation = 0xbf;

bool continues(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte >= kFirstContinuation && byte <= kLastContinuation;
}

// The length in bytes of the well-formed UTF-8 character above ASCII at the front of `text`, or 0.
// Unicode 15, table 3-7.
std::size_t multibyte_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text, i)) return 0;
  }
  if (length < 3) return length;
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool no_character = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f);
  return overlong || no_character ? 0 : length;
}

// The length in bytes of the character at the front of `text`, or 0.
std::size_t character_length(std::string_view text) {
  return static_cast<unsigned char>(text.front()) < kFirstContinuation ? 1 : multibyte_length(text);
}

// The control characters U+0080 to U+009F; terminals obey some of them.
bool is_high_control(std::string_view text) {
  return text.size() == 2 && static_cast<unsigned char>(text[0]) == 0xc2 &&
         static_cast<unsigned char>(text[1]) < 0xa0;
}

std::string escaped(unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  switch (byte) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    std::size_t length = character_length(text);
    if (byte < 0x20 || byte == 0x7f || length == 0 || is_high_control(text.substr(0, length))) {
      result += escaped(byte);
      length = 1;
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    result += length == 0 ? "\xef\xbf\xbd" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace elision
