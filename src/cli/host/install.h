// SPDX-License-Identifier: Apache-2.0
// Where this installation's files lie, found from the running binary and never from the source tree.
#pragma once

#include <string>
#include <vector>

namespace elision::cli {

/// The running binary.
std::string own_binary();

/// libelision.so in ../lib of the running binary; throws UsageError that names the path if it is not there.
std::string preload_library();

/// Makes `environment` preload the library into `file`: in front of what it preloads already, but behind the
/// AddressSanitizer that the program is linked with, which refuses to come second.
void preload_into(const std::string& file, std::vector<std::string>& environment);

}  // namespace elision::cli
