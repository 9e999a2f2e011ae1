// SPDX-License-Identifier: Apache-2.0
// Reads untrusted files: never more than the caller expects, and never from a device or a pipe, which might
// not end. Hosted.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace elision {

/// The content of the regular file at `path`, with links followed. The error says, without the file's name,
/// that it is missing, not a regular file, or longer than `most_bytes`. Never blocks.
Result<std::string> read_whole_file(const std::string& path, std::size_t most_bytes);

}  // namespace elision
