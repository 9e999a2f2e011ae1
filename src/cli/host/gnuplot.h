// SPDX-License-Identifier: Apache-2.0
// Pictures by gnuplot, a program that users install if they want pictures.
#pragma once

#include <string>

namespace elision::cli {

/// Throws UsageError that says how to get gnuplot if it is not in PATH.
void require_gnuplot();

/// What gnuplot writes to its standard output for `script`. Throws UsageError with its complaint if it fails.
std::string drawn_by_gnuplot(const std::string& script);

}  // namespace elision::cli
