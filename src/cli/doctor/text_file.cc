// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/text_file.h"

#include "base/whole_file.h"

namespace elision::cli::doctor {

std::optional<std::string> read_text(const std::filesystem::path& file) {
  constexpr std::size_t kMostBytes = 16 << 20;  // /proc/cpuinfo of thousands of CPUs
  Result<std::string> text = read_whole_file(file, kMostBytes);
  if (!text) return std::nullopt;
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  return std::move(*text);
}

}  // namespace elision::cli::doctor
