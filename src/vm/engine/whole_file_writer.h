// SPDX-License-Identifier: Apache-2.0
// Writes a file of the engine completely or not at all.
#pragma once

#include <string>

namespace elision::vm {

/// Replaces the file at `path` with `text`. Returns 0 or an errno value.
int write_whole(const std::string& path, const std::string& text);

}  // namespace elision::vm
