// SPDX-License-Identifier: Apache-2.0
// Words as a shell reads them back.
#pragma once

#include <string>
#include <vector>

namespace elision::cli {

/// `words` as one line of a POSIX shell; quoted only where it must be.
std::string quoted_for_shell(const std::vector<std::string>& words);

}  // namespace elision::cli
