// SPDX-License-Identifier: Apache-2.0
// Decides whether a program's output is the same as under the reference design, although times, rates and
// addresses differ from run to run. Pure.
//
// Differences between runs of the reference do not count against another design:
//  - A line that is the same in all reference runs must be the same, except for numbers with a fraction
//    (1.25) and hexadecimal numbers, which are measurements and addresses.
//  - A line that varied only in its numbers must be the same except for its numbers.
//  - A line that varied otherwise is not compared.
//  - If the number of lines varied, nothing is compared.
// All numbers may differ if there is only one reference run, or if the program measures itself: then it
// probably runs for a fixed time, and its counts depend on the design.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace elision::cli::experiment {

class OutputFilter {
 public:
  /// Learns from the reference runs' outputs; there must be at least one. `measures_itself`: see above.
  OutputFilter(const std::vector<std::string>& references, bool measures_itself);

  /// Nothing if `output` matches the reference's; else the difference, as part of a sentence.
  std::optional<std::string> difference(const std::string& output) const;

 private:
  enum class Rule { kMeasurementsMayDiffer, kNumbersMayDiffer, kAnything };
  struct Line {
    std::string text;  // of the first reference run
    Rule rule;
  };

  std::vector<Line> lines_;
  bool comparable_ = true;
};

}  // namespace elision::cli::experiment
