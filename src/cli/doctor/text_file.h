// SPDX-License-Identifier: Apache-2.0
// Small text files of the kernel. Whatever cannot be read is simply not known.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace elision::cli::doctor {

/// All of `file`, without white space at its end; nothing if it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& file);

}  // namespace elision::cli::doctor
