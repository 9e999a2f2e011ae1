// SPDX-License-Identifier: Apache-2.0
#include "cli/host/shell_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace elision::cli {
namespace {

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-+=./,:@%").find(c) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  // A first word with "=" would be an assignment; ours never has one.
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string quoted_for_shell(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + quoted(word);
  return line;
}

}  // namespace elision::cli
