// SPDX-License-Identifier: Apache-2.0
// Runs a program for a fuzzer: collects its output, and ends it after a time limit.
#pragma once

#include <string>
#include <vector>

namespace fuzz {

struct Ended {
  int status = 0;      // as waitpid has it
  bool asked = false;  // ended by SIGTERM after the time limit
  std::string output;
  std::string errors;
};

/// Confines this process and its children to namespaces of their own, and keeps programs of run_child() from
/// changing file systems, since mutated programs may do anything. Forks: the caller's process waits and ends
/// as the child that continues. Ends with 77 and one line if namespaces are not permitted. Call it once,
/// before there are threads.
void confine();

/// Standard input is empty. After `seconds` the program gets SIGTERM. If it has not ended after as many
/// seconds again, that is a failure.
Ended run_child(const std::vector<std::string>& command, unsigned seconds);

}  // namespace fuzz
