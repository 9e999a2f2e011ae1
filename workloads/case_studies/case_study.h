// SPDX-License-Identifier: Apache-2.0
// The options of the case studies.
#pragma once

#include <string>
#include <vector>

#include "command_line.h"
#include "team_options.h"

namespace workloads {

struct CaseOptions : TeamOptions {
  std::string variant = "original";
};

/// `threads`: says which threads these are.
inline void add_case_options(CommandLine& line, CaseOptions& options,
                             const std::vector<std::string>& variants, const std::string& threads = "") {
  line.add("--variant", options.variant, "the program as it was, or changed").one_of(variants);
  add_team_options(line, options, threads).within(1, 256);
}

}  // namespace workloads
