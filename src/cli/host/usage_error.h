// SPDX-License-Identifier: Apache-2.0
// The error of a verb that cannot do what it was asked. main() prints the message as one line and ends with
// kUsageExitCode. Only src/cli throws or catches it.
#pragma once

#include <stdexcept>
#include <string>

namespace elision::cli {

/// Every verb's exit code after bad input. Exit codes of programs are passed on unchanged.
inline constexpr int kUsageExitCode = 2;

/// Bad input. `what()` is one line that names it, without the verb's name.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace elision::cli
