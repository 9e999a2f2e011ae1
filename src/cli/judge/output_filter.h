// SPDX-License-Identifier: Apache-2.0
// Decides whether a program printed the same as under the reference design, although times, rates and
// addresses differ from run to run. Pure.
//
// What differs between runs under the reference alone cannot count against another design:
//  - a line that was the same in every reference run must be the same now, but for numbers with a
//    fraction (1.25) and hexadecimal ones, which are measurements and addresses;
//  - a line that varied only in its numbers must be the same but for its numbers;
//  - a line that varied otherwise is not compared;
//  - if even the number of lines varied, nothing is compared.
// All numbers may differ if there is one reference run, which says nothing of variation, and if the program
// measures itself: then it probably runs for a fixed time, and what it counts depends on the design.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace elision::cli::experiment {

class OutputFilter {
 public:
  /// Learns from the reference runs' outputs; there must be at least one. `measures_itself`: see above.
  OutputFilter(const std::vector<std::string>& references, bool measures_itself);

  /// Nothing if `output` is what the reference design prints, else what differs, as part of a sentence.
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
