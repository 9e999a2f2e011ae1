// SPDX-License-Identifier: Apache-2.0
// The progress of a comparison on standard error: an estimate, and a bar if it is a terminal.
#pragma once

#include <string>

#include "cli/experiment/observer.h"

namespace elision::cli::experiment {

class Progress final : public Observer {
 public:
  /// `verb`: in whose name the estimate is. `terminal`: standard error can redraw a line.
  Progress(std::string verb, bool terminal) : verb_(std::move(verb)), terminal_(terminal) {}
  ~Progress() override { clear(); }

  void estimate(const Outlook& outlook, unsigned workers) override;
  void progress(const Outlook& outlook) override;
  void clear();

 private:
  const std::string verb_;
  const bool terminal_;
  bool drawn_ = false;
};

/// "about 40 s", "about 3 min": what is left, no more exact than it is known.
std::string format_estimate(double seconds, bool at_least = false);

/// "21 runs", or "at least 21 runs" while more of them may be added.
std::string format_runs(const Outlook& outlook);

/// "[#####.....] 10 of 21 runs, about 40 s left, htm-10 with 8 threads", no wider than `width`.
std::string format_bar(const Outlook& outlook, std::size_t width);

}  // namespace elision::cli::experiment
