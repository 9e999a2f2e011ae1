// SPDX-License-Identifier: Apache-2.0
// Starts one program and waits for it with a deadline. When the program ends, time is up, or the comparison
// stops or ends in any way (SIGKILL included), kills the program and all processes that it started, in any
// process group or session. Two guard processes do that, and either of them may be killed. Safe to call from
// several threads.
#pragma once

#include <array>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// A request to stop everything; a signal handler may raise it.
class StopFlag {
 public:
  StopFlag();
  ~StopFlag();
  StopFlag(const StopFlag&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;

  /// Async-signal-safe.
  void raise() const;
  bool raised() const;
  /// Readable once raised.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The signals that stop a comparison, unless ignored.
inline constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// The exit code of a command that was stopped.
inline constexpr int kStoppedExitCode = 128 + SIGINT;

/// Makes kStopSignals raise `stop`, which must live until the process ends.
void stop_on_signals(const StopFlag& stop);

struct ChildRequest {
  std::string program;             // its name in errors
  std::string file;                // to execute
  std::vector<std::string> words;  // argv
  std::vector<std::string> environment;
  std::filesystem::path directory;  // for the captured output
  double timeout_seconds = 0;
  std::shared_ptr<const void> needs{};  // kept until the program has ended
};

/// Runs the program to its end. Fills in outcome, status, wall time (seconds and host_seconds), CPU time and
/// output. If our standard input is a regular file, the program reads it from its start; otherwise its input
/// is empty.
Sample run_child(const ChildRequest& request, const StopFlag& stop);

}  // namespace elision::cli::experiment
