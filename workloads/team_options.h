// SPDX-License-Identifier: Apache-2.0
// What programs whose threads form a team (team.h) take on their command lines.
#pragma once

#include <cstdint>
#include <string>

#include "command_line.h"

namespace workloads {

struct TeamOptions {
  unsigned threads = 1;
  std::uint64_t seed = 1;
  bool no_pin = false;
};

/// Adds --threads, --seed and --no-pin. `threads`: says which threads these are. Returns --threads, whose
/// bounds are the program's.
inline Option add_team_options(CommandLine& line, TeamOptions& options, const std::string& threads = "") {
  line.add("--seed", options.seed, "of the input");
  line.add_flag("--no-pin", options.no_pin, "leave threads to the scheduler");
  return line.add("--threads", options.threads, threads);
}

}  // namespace workloads
