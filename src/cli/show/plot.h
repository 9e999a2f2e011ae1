// SPDX-License-Identifier: Apache-2.0
// A comparison as a picture: the script that gnuplot draws. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

/// Throughput over threads, a line for each design; with one number of threads a bar for each. Ranges of the
/// runs are error bars. gnuplot writes the picture, SVG, to its standard output. Empty if no design has a
/// result.
std::string plot_script(const Plan& plan, const std::vector<Block>& blocks);

}  // namespace elision::cli::experiment
