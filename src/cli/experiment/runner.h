// SPDX-License-Identifier: Apache-2.0
// Runs one cell: on the real CPU, on the virtual machine, or in a test.
#pragma once

#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

class Runner {
 public:
  virtual ~Runner() = default;

  /// How many cells may run at once without affecting each other's results.
  virtual unsigned workers() const = 0;

  /// Runs `cell` to its end, to `timeout_seconds` of real time, or until cancel(). Called from several
  /// threads. Throws UsageError if the program could not be started.
  virtual Sample run(const Cell& cell, double timeout_seconds) = 0;

  /// True after a request to stop. Current runs have then been killed.
  virtual bool cancelled() const = 0;
};

}  // namespace elision::cli::experiment
