// SPDX-License-Identifier: Apache-2.0
// A process that waits before it executes its program, so that events can be opened that count it from its
// first instruction on.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace elision::cli {

class HeldProcess {
 public:
  /// The process exists when this returns. `to_reset`: signals that do what they do by default in it. Throws
  /// UsageError if there is no room for a process.
  HeldProcess(const std::string& file, const std::vector<std::string>& words,
              const std::vector<std::string>& environment, const sigset_t& to_reset);
  /// A process that has not been released ends.
  ~HeldProcess();
  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;

  pid_t id() const { return id_; }
  /// Lets it execute the program. 0, or the errno of execve; then the process has ended. A process that a
  /// signal has ended meanwhile is left for wait().
  int release();

 private:
  pid_t id_ = 0;
  int socket_ = -1;
  bool released_ = false;
};

}  // namespace elision::cli
