// SPDX-License-Identifier: Apache-2.0
// A runner that starts no process: a test says what each cell does.
#pragma once

#include <vector>

#include "cli/experiment/runner.h"

namespace elision::cli::experiment {

class CellRunner : public Runner {
 public:
  std::vector<Sample> run(const std::vector<Cell>& cells, double timeout_seconds) override {
    std::vector<Sample> samples;
    for (const Cell& cell : cells) samples.push_back(run_cell(cell, timeout_seconds));
    return samples;
  }

 private:
  virtual Sample run_cell(const Cell& cell, double timeout_seconds) = 0;
};

}  // namespace elision::cli::experiment
