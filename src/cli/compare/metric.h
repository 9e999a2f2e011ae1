// SPDX-License-Identifier: Apache-2.0
// Reads a program's own result out of what it printed. Pure.
#pragma once

#include <optional>
#include <regex>
#include <string>

#include "cli/compare/sample.h"

namespace elision::cli::compare {

class Metric {
 public:
  /// `expression` in ECMAScript syntax; its first group (or, without one, the whole match) is the
  /// number. Throws UsageError that names it if it is no regular expression.
  explicit Metric(const std::string& expression);

  /// The last match in `text`; nothing if there is none or it is not a number.
  std::optional<double> read(const std::string& text) const;

  /// What `sample` printed to standard output, or else to standard error.
  std::optional<double> read(const Sample& sample) const;

  /// `text` with every matched number replaced, so that outputs can be compared without it.
  std::string without(const std::string& text) const;

 private:
  std::size_t group() const { return regex_.mark_count() > 0 ? 1 : 0; }
  std::regex regex_;
};

}  // namespace elision::cli::compare
