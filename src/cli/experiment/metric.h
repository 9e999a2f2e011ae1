// SPDX-License-Identifier: Apache-2.0
// Reads a program's own result from its output. Pure.
//
// The expressions are RE2's: time is linear in the length of the text for every expression, and the stack
// does not grow with a line. Unsupported constructs (look-ahead, back references) are refused by name.
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
  /// `expression` has RE2's syntax, works on bytes, and "^" and "$" match at every line. Its first group, or
  /// the whole match without a group, is the number. Throws UsageError for an invalid expression.
  explicit Metric(const std::string& expression);

  /// The last number that matches in `text`, or nothing.
  std::optional<double> read(const std::string& text) const;

  /// The last number on standard output of `sample`, or else on its standard error.
  std::optional<double> read(const Sample& sample) const;

  /// Says in one line why read() finds nothing in the output of `program`.
  std::string complaint(const Sample& sample, const std::string& program) const;

  /// `text` with every matched number replaced, for comparing outputs.
  std::string without(const std::string& text) const;

 private:
  // Calls `found` with the number's text in each match.
  void for_each_match(std::string_view text, const std::function<void(std::string_view)>& found) const;

  const std::string expression_;
  const std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace elision::cli::experiment
