// SPDX-License-Identifier: Apache-2.0
// Runs cells: on the real CPU, on the virtual machine, or in a test.
#pragma once

#include <utility>
#include <vector>

#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

class Runner {
 public:
  virtual ~Runner() = default;

  /// How many cells may run at once without affecting each other's results.
  virtual unsigned workers() const = 0;

  /// Runs one process for `cells`, to its end, to `timeout_seconds` of real time, or until cancelled().
  /// Several cells are windows of one run; their samples share its real time. Called from several threads.
  /// Throws UsageError if the program could not be started.
  virtual std::vector<Sample> run(const std::vector<Cell>& cells, double timeout_seconds) = 0;

  Sample run_one(const Cell& cell, double timeout_seconds) {
    return std::move(run({cell}, timeout_seconds).front());
  }

  /// True after a request to stop. Current runs have then been killed.
  virtual bool cancelled() const = 0;
};

}  // namespace elision::cli::experiment
