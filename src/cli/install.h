// SPDX-License-Identifier: Apache-2.0
// Where this installation's files lie, found from the running binary and never from the source tree.
#pragma once

#include <string>

namespace elision::cli {

/// The running binary.
std::string own_binary();

/// libelision.so in ../lib of the running binary; throws UsageError that names the path if it is not there.
std::string preload_library();

}  // namespace elision::cli
