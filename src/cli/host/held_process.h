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
  /// Ends the process if it has not been released.
  ~HeldProcess();
  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;

  pid_t id() const { return id_; }
  /// Lets the process execute the program. Returns 0, or the errno of execve after the process has ended. If
  /// a signal has ended it, returns 0 and leaves its status to waitpid().
  int release();

 private:
  pid_t id_ = 0;
  int socket_ = -1;
  bool released_ = false;
};

}  // namespace elision::cli
