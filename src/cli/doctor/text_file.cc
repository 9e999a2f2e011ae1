// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/text_file.h"

#include <fstream>
#include <iterator>

namespace elision::cli::doctor {

std::optional<std::string> read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  std::ifstream stream(file);
  if (!stream) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) return std::nullopt;
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

}  // namespace elision::cli::doctor
