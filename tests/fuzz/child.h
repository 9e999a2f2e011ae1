// SPDX-License-Identifier: Apache-2.0
// Runs a program for a fuzzer: output collected, ended if it takes too long.
#pragma once

#include <string>
#include <vector>

namespace fuzz {

struct Ended {
  int status = 0;      // as waitpid has it
  bool asked = false;  // took too long, and ended by the SIGTERM that it got
  std::string output;
  std::string errors;
};

/// Standard input is empty. A program that has run for `seconds` gets SIGTERM; one that has not ended after
/// as long again is a failure.
Ended run_child(const std::vector<std::string>& command, unsigned seconds);

}  // namespace fuzz
