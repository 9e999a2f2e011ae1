// SPDX-License-Identifier: Apache-2.0
// Progress of a comparison.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace elision::cli::experiment {

struct Outlook {
  std::size_t done = 0;
  std::size_t runs = 0;                // the finished ones among them
  bool may_grow = false;               // rounds may be added to them
  std::optional<double> seconds_left;  // nothing before the first run has ended
  std::string running;                 // "htm-10 with 8 threads": the run that began last
};

/// Gets reports from one thread at a time.
class Observer {
 public:
  virtual ~Observer() = default;
  /// After the first run, if it is not the only one. `workers`: runs at a time.
  virtual void estimate(const Outlook& outlook, unsigned workers) = 0;
  /// At the beginning and at the end of each run.
  virtual void progress(const Outlook& outlook) = 0;
};

}  // namespace elision::cli::experiment
