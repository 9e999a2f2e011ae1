// SPDX-License-Identifier: Apache-2.0
// Starts one program, waits for it with a deadline, and kills it and all that it started, in whatever process
// group or session, when it has ended, time is up, or the comparison is stopped or ends in any way, by
// SIGKILL too: two guard processes stand between, of which either may be killed. Safe to call from several
// threads.
#pragma once

#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// Says that everything should stop; may be told from a signal handler.
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

/// What stops a comparison, unless it is ignored.
inline constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// What a command that was stopped so ends with.
inline constexpr int kStoppedExitCode = 128 + SIGINT;

/// From now on kStopSignals raise `stop`, which must live as long as the process does anything.
void stop_on_signals(const StopFlag& stop);

struct ChildRequest {
  std::string program;             // what errors call it
  std::string file;                // what to execute
  std::vector<std::string> words;  // argv
  std::vector<std::string> environment;
  std::filesystem::path directory;  // for the captured output
  double timeout_seconds = 0;
};

/// Runs the program to its end. Fills outcome, status, wall time (seconds and host_seconds), CPU time and
/// what was printed. Standard input is ours if that is a regular file, from its start, else empty.
Sample run_child(const ChildRequest& request, const StopFlag& stop);

}  // namespace elision::cli::experiment
