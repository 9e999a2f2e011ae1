// SPDX-License-Identifier: Apache-2.0
// Reads files that people name, or that programs left: never more than the caller expects, and never from
// what need not end (a device, a pipe). Hosted.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace elision {

/// All of the regular file at `path`, links followed. The error says why not, without the file's name: it is
/// missing, no regular file, or longer than `most_bytes`. Waits for nobody.
Result<std::string> read_whole_file(const std::string& path, std::size_t most_bytes);

}  // namespace elision
