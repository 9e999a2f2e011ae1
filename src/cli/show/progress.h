// SPDX-License-Identifier: Apache-2.0
// The progress of a comparison on standard error: an estimate, and a bar if it is a terminal.
#pragma once

#include <string>

#include "cli/experiment/execute.h"

namespace elision::cli::experiment {

class Progress final : public Observer {
 public:
  /// `verb`: in whose name the estimate is. `terminal`: standard error can redraw a line.
  Progress(std::string verb, bool terminal) : verb_(std::move(verb)), terminal_(terminal) {}
  ~Progress() override { clear(); }

  void estimate(std::size_t runs, unsigned workers, double seconds_left) override;
  void progress(std::size_t done, std::size_t runs, double seconds_left) override;
  void clear();

 private:
  const std::string verb_;
  const bool terminal_;
  bool drawn_ = false;
};

/// "about 40 s", "about 3 min": what is left, no more exact than it is known.
std::string format_estimate(double seconds);

/// "[#####.....] 10/21 runs, about 40 s left".
std::string format_bar(std::size_t done, std::size_t runs, double seconds_left);

}  // namespace elision::cli::experiment
