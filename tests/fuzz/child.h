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

/// From now on this process and what it starts see only each other, in namespaces of their own, and what
/// run_child() starts cannot change a file system: for programs that do what an input says. The process that
/// called stays behind, waits, and ends as the one that goes on. Ends with 77 and one line where namespaces
/// are not permitted. Call it once, before there are threads.
void confine();

/// Standard input is empty. A program that has run for `seconds` gets SIGTERM; one that has not ended after
/// as long again is a failure.
Ended run_child(const std::vector<std::string>& command, unsigned seconds);

}  // namespace fuzz
