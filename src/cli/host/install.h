// SPDX-License-Identifier: Apache-2.0
// The files of this installation, found from the running binary and never from the source tree.
#pragma once

#include <string>
#include <vector>

namespace elision::cli {

/// The running binary.
std::string own_binary();

/// libelision.so, in an installation as in a build. Throws UsageError with the path if it is missing, or if
/// LD_PRELOAD cannot name it.
std::string preload_library();

/// The same for libelision-tm.so.
std::string tm_library();

/// Makes `environment` preload `library` into `file`, in front of other preloaded libraries, but after the
/// program's AddressSanitizer, which insists on being first.
void preload_into(const std::string& file, std::vector<std::string>& environment, const std::string& library);

}  // namespace elision::cli
