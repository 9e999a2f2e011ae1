// SPDX-License-Identifier: Apache-2.0
// Small text files of the kernel. An unreadable file is an unknown fact.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace elision::cli::doctor {

/// The content of `file` without trailing white space; nothing if it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& file);

}  // namespace elision::cli::doctor
