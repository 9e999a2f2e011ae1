// SPDX-License-Identifier: Apache-2.0
// Reads a program's own result out of what it printed. Pure.
//
// The expressions are RE2's: time is linear in the length of the text, whatever the expression, and the stack
// does not grow with a line. What cannot be had so (look-ahead, back references) is refused by name.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/experiment/sample.h"

namespace re2 {
class RE2;
}

namespace elision::cli::experiment {

class Metric {
 public:
  /// `expression` in RE2's syntax, "^" and "$" at every line, over bytes; its first group (or, without one,
  /// the whole match) is the number. Throws UsageError that names it if it is no such expression.
  explicit Metric(const std::string& expression);

  /// The last number that matches in `text`, or nothing.
  std::optional<double> read(const std::string& text) const;

  /// What `sample` printed to standard output, or else to standard error.
  std::optional<double> read(const Sample& sample) const;

  /// Why read() finds nothing in what `program` printed, as one line.
  std::string complaint(const Sample& sample, const std::string& program) const;

  /// `text` with every matched number replaced, so that outputs can be compared without it.
  std::string without(const std::string& text) const;

 private:
  // `found` gets what stands for the number in each match, within `text`.
  void for_each_match(std::string_view text, const std::function<void(std::string_view)>& found) const;

  const std::string expression_;
  const std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace elision::cli::experiment
