// SPDX-License-Identifier: Apache-2.0
// The one way in which a verb says that it was asked something it cannot do: main() prints the
// message as one line and ends with kUsageExitCode. Only src/cli throws or catches it.
#pragma once

#include <stdexcept>
#include <string>

namespace elision::cli {

/// What every verb ends with after bad input. Programs' own exit codes are passed on unchanged.
inline constexpr int kUsageExitCode = 2;

/// Bad input; `what()` is one line that names the thing, without the verb's name in front.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace elision::cli
