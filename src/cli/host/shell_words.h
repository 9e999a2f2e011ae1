// SPDX-License-Identifier: Apache-2.0
// Words quoted for a shell.
#pragma once

#include <string>
#include <vector>

namespace elision::cli {

/// `words` as one line for a POSIX shell, quoted only if necessary.
std::string quoted_for_shell(const std::vector<std::string>& words);

}  // namespace elision::cli
