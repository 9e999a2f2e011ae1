// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace elision::cli {

/// Throws UsageError unless a file could be written at `path` later: its directory exists and can be
/// written, and it is no directory itself. Asked before a long run, not after.
void require_writable(const std::string& path);

/// Writes `content` under a temporary name beside `path` and renames it; throws UsageError and leaves
/// nothing behind if that fails.
void write_atomically(const std::string& path, std::string_view content);

}  // namespace elision::cli
